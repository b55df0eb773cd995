"""Archives of arrays: what damage and other content are told as, and that none is read as something else."""

import io
import zipfile

import numpy as np
import pytest

from jaxcert._archive import read_arrays

MANY = np.arange(1200.0).reshape(400, 3)  # of more bytes than are read at once


def packed(**arrays) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


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
