"""Archives of arrays: what comes back, and in which words damage and other content are refused."""

import io
import zipfile

import numpy as np
import pytest
from saved_files import archive, single

from jaxcert.tables._arrays import read_arrays

ARRAYS = {"a": np.arange(3, dtype=np.int32), "b": np.ones((2, 2)), "t": np.array(["x", "yz"]), "s": np.float32(1)}
MANY = np.arange(1200.0).reshape(400, 3)  # of more bytes than are read at once


def test_what_was_written_comes_back():
    arrays = read_arrays(archive(**ARRAYS), ["a", "b"])
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)
    assert read_arrays(archive(**ARRAYS), ["a"], ["t", "u"]).keys() == {"a", "t"}


def test_a_file_cut_at_any_byte_is_refused():
    content = archive(**ARRAYS)
    for length in range(len(content)):
        with pytest.raises(ValueError, match=r"an? \.npz file|an array"):
            read_arrays(content[:length], ["a"])


def test_no_flipped_bit_gives_other_arrays():
    """One in its header would make an array of 400 tasks one of 40."""
    content = archive(returns=MANY)
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
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("a.npy", single(np.ones(3)) + b"x")
    with pytest.raises(ValueError, match="goes on after its array, damaged; expected one array"):
        read_arrays(content.getvalue(), ["a"])


@pytest.mark.parametrize("names", [("a.npy", "a.npy"), ("a.npy", "a"), ("a", "a.npy"), ("b.npy", "a.npy", "a.npy")])
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_an_array_that_is_there_twice_has_no_meaning(names):
    """NumPy takes the first or the last, other readers another one; so do they of two archives in a row."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, single(np.ones(3)))
    with pytest.raises(ValueError, match="holds 2 arrays 'a'; expected each name once"):
        read_arrays(content.getvalue(), ["b"])
    with pytest.raises(ValueError, match="its archive follows other content"):
        read_arrays(archive(**ARRAYS) * 2, ["a"])
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("a", "hello")
    with pytest.raises(ValueError, match="'a' is no array"):
        read_arrays(content.getvalue(), ["a"])


def test_what_is_missing_or_pickled_is_told_in_words():
    with pytest.raises(ValueError, match="has no array 'w', found 'a', 'b', 't', 's'; expected one of that name"):
        read_arrays(archive(**ARRAYS), ["a", "w"])
    with pytest.raises(ValueError, match="holds pickled objects, which are never loaded"):
        read_arrays(archive(a=np.array([{}])), ["a"])
