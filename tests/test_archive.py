"""Archives of arrays with a head: what comes back, and in which words damage and other content are refused."""

import io
import json
import zipfile

import numpy as np
import pytest

from jaxcert._archive import ADAPTIVE, POLICY, check_arrays, read_archive, read_arrays, write_archive

HEAD = {"name": "é", "sizes": [1, 2], "none": None}
ARRAYS = {"a": np.arange(3, dtype=np.int32), "b": np.ones((2, 2)), "t": np.array(["x", "yz"]), "s": np.float32(1)}
MANY = np.arange(1200.0).reshape(400, 3)  # of more bytes than are read at once


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "file.npz", POLICY, HEAD, ARRAYS)
    return tmp_path / "file.npz"


def packed(**arrays) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def test_what_was_written_comes_back(path):
    head, arrays = read_archive(path, POLICY, ["a", "b"])
    assert head == HEAD
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)
    with np.load(path, allow_pickle=False) as file:
        assert json.loads(str(file["about"])) == {"format": "jaxcert-policy-1", **HEAD}
    content = path.read_bytes()
    write_archive(path, POLICY, HEAD, ARRAYS)
    assert path.read_bytes() == content


def test_a_file_that_exists_stays_where_it_should(path):
    content = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"what was written is in .*file\.1\.npz"):
        write_archive(path, POLICY, {}, {}, replace=False)
    assert path.read_bytes() == content
    assert read_archive(path.with_name("file.1.npz"), POLICY) == ({}, {})


def test_a_file_cut_at_any_byte_is_refused(path):
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"file\.npz: "):
            read_archive(path, POLICY)


def test_no_flipped_bit_gives_other_arrays():
    """One in its header would make an array of 400 tasks one of 40."""
    content = packed(returns=MANY)
    read = 0
    for place in (*range(200), *range(len(content) - 200, len(content))):
        for bit in range(8):
            flipped = content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]
            try:
                found = read_arrays(flipped, ["returns"])["returns"]
            except ValueError:
                continue
            np.testing.assert_array_equal(found, MANY)
            read += 1
    assert read > 0  # such as a date, which nobody reads


def test_an_array_with_bytes_left_over_is_refused():
    """Also where the archive's own checksum agrees."""
    content, array = io.BytesIO(), io.BytesIO()
    np.save(array, np.ones(3))
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.npy", array.getvalue() + b"x")
    with pytest.raises(ValueError, match="goes on after its array, damaged; expected one array"):
        read_arrays(content.getvalue(), ["a"])


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ('{"format": "jaxcert-policy-1"}', "is a policy, expected an adaptive run"),
        ('{"format": "jaxcert-adaptive-2"}', "is of the format 'jaxcert-adaptive-2', expected an adaptive"),
        ('{"format": ["jaxcert-adaptive-1"]}', "is of the format .*, expected an adaptive run"),
        ("{}", r"is of the format None, expected an adaptive run \(jaxcert-adaptive-1\)"),
        ("[]", "is of the format None, expected an adaptive run"),
        (3.5, "is of the format None, expected an adaptive run"),
        ("{", "array 'about' is no JSON"),
        ("[" * 100_000, "array 'about' is no JSON"),
        ('{"format": "jaxcert-adaptive-1", "a": 1, "a": 2}', "array 'about' is no JSON .*'a' occurs twice"),
        (["{}"], "array 'about' is no JSON"),
    ],
)
def test_other_heads_are_refused(tmp_path, about, words):
    (tmp_path / "file.npz").write_bytes(packed(about=np.array(about), a=np.ones(3)))
    with pytest.raises(ValueError, match=rf"file\.npz: .*{words}"):
        read_archive(tmp_path / "file.npz", ADAPTIVE)


def test_what_is_missing_is_told_in_words(path):
    with pytest.raises(ValueError, match=r"file\.npz: has no array 'w', found 'a', 'b', 't', 's', 'about'"):
        read_archive(path, POLICY, ["a", "w"])
    path.write_bytes(packed(returns=MANY))
    with pytest.raises(ValueError, match=r"file\.npz: has no array 'about', found 'returns'"):
        read_archive(path, POLICY)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"file\.npz: no such file"):
        read_archive(path, POLICY)


def test_objects_are_neither_unpickled_nor_pickled(path):
    path.write_bytes(packed(about=np.array({"format": "jaxcert-policy-1"}, dtype=object)))
    with pytest.raises(ValueError, match=r"file\.npz: holds pickled objects, which are never loaded"):
        read_archive(path, POLICY)
    path.write_bytes(packed(about=np.array('{"format": "jaxcert-policy-1"}'), a=np.array([{}])))
    with pytest.raises(ValueError, match=r"file\.npz: holds pickled objects, which are never loaded"):
        read_archive(path, POLICY)
    content = path.read_bytes()
    for array in (np.array([None]), np.zeros(2, [("x", float)])):
        with pytest.raises(ValueError, match=r"array 'a' has dtype .*, expected numbers, truth values or texts"):
            write_archive(path, POLICY, {}, {"a": array})
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({"format": "other"}, "format is the name by which a file says what it is; expected another one"),
        ({"x": float("nan")}, r"x cannot be written as JSON \(.*\); expected numbers, texts or lists"),
        ({"x": np.float32("inf")}, "x cannot be written as JSON"),
        ({"x": {1, 2}}, r"x cannot be written as JSON \(Object of type set is not JSON serializable\)"),
        ({"x": {1: "a", "1": "b"}}, r"x cannot be written as JSON \(the key '1' occurs twice\)"),
    ],
)
def test_a_head_that_could_not_be_read_is_not_written(tmp_path, head, words):
    with pytest.raises(ValueError, match=words):
        write_archive(tmp_path / "file.npz", POLICY, head, {})
    assert not list(tmp_path.iterdir())


def test_numbers_of_numpy_are_those_of_json(path):
    write_archive(path, POLICY, {"x": np.int64(3), "y": [np.float32(0.5)]}, {})
    assert read_archive(path, POLICY)[0] == {"x": 3, "y": [0.5]}


def test_types_and_shapes_are_compared():
    expected = {"a": (np.dtype(np.int32), (3,)), "s": (np.dtype(np.float32), ())}
    check_arrays(ARRAYS, expected)
    with pytest.raises(ValueError, match=r"array 'a' is int32 of shape \(3,\), expected int32 of shape \(4,\)"):
        check_arrays(ARRAYS, {**expected, "a": (np.dtype(np.int32), (4,))})
    with pytest.raises(ValueError, match="has no array 'c'"):
        check_arrays(ARRAYS, {"c": (np.dtype(np.int32), ())})
