"""No command replaces what it reads, or begins what it cannot write."""

import pytest
from cli_harness import refused

from jaxcert._files import check_output, write_whole


def test_a_name_beside_which_no_other_has_room_is_refused_beforehand(tmp_path):
    longest = tmp_path / ("ä" * 113 + ".npz")
    assert len(longest.name.encode()) == 230
    write_whole(check_output(longest), b"1")
    write_whole(longest.with_name(f"{longest.name}.unfinished"), b"2")
    too_long = tmp_path / ("ä" * 114 + ".npz")
    with pytest.raises(ValueError, match="a name of 232 bytes; expected at most 230"):
        check_output(too_long)
    begin = ("rollout", "simple_grid", "--tasks", 3, "--rollouts", 2, "--out", too_long)
    assert "a name of 232 bytes" in refused(*begin)
    assert len(list(tmp_path.iterdir())) == 2
