"""No command is proposed for columns of which a name does not say alone what they are."""

import pytest
from cli_harness import command

PROPOSED = "for example: jaxcert"
BAD = {
    "failures": "task,trial,failed\na,0,false\na,1,true\nb,0,false\nb,1,false\n",
    "failures by another name": "task,trial,failure_outcome\na,0,0\na,1,1\nb,0,0\nb,1,0\n",
    "not solved": "task,trial,not_solved\na,0,0\na,1,1\nb,0,0\nb,1,0\n",
    "losses": "task,trial,loss\na,0,0.5\na,1,0.25\nb,0,0.5\nb,1,0.75\n",
    "moments": "env_frames,seed,return\n1000,0,0.1\n1000,1,0.2\n2000,0,0.5\n2000,1,0.6\n",
    "a clock": "Wall time,Value\n1.5,0.5\n2.5,0.6\n3.5,0.75\n",
    "models": "llm,score\nx,0.5\ny,0.75\nz,0.25\n",
    "one of two": "task,trial,return_std,return_mean\na,0,0.9,0.2\na,1,0.8,0.2\nb,0,0.9,0.2\nb,1,0.8,0.2\n",
    "another policy's": "task,trial,success_control,success_new\na,0,1,0\na,1,1,0\nb,0,1,0\nb,1,1,0\n",
}


@pytest.mark.parametrize("name", BAD)
def test_what_no_name_says_is_left_to_the_user(tmp_path, name):
    (tmp_path / "t.csv").write_text(BAD[name])
    outcome = command("certify", tmp_path / "t.csv", "--mean", "--delta", 0.05)
    assert outcome.status == 2
    assert PROPOSED not in outcome.err
    assert "column" in outcome.err
