"""Logs of Inspect, made by Inspect: run as a script, this writes those that lie in `tests/tables/logs`.

    python tests/tables/inspect_logs.py FOLDER

A solver writes the answers, so that no model is needed: a sample is answered wrongly where its number and the epoch add
up to a multiple of three.
"""

import math
import pathlib
import shutil
import sys
import tempfile

NUM_SAMPLES, NUM_EPOCHS = 3, 2
# By the name of the log: the format of the file, and how the evaluation ends for the sample of number 1.
LOGS = {
    "letters": ("eval", ""),
    "letters_json": ("json", ""),
    "several": ("eval", ""),
    "errors": ("eval", "error"),
    "limits": ("eval", "limit"),
    "stopped": ("eval", "stop"),
    "edited": ("eval", "edit"),
}


def right(number: int, epoch: int) -> bool:
    """Whether a sample is answered rightly."""
    return (number + epoch) % 3 != 0


def make(name: str, folder: pathlib.Path) -> pathlib.Path:
    """The log of this name, in a folder of its own there."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample

    form, ending = LOGS[name]
    samples = [Sample(id=f"q-{i}", input=f"question {i}", target=f"answer {i}") for i in range(NUM_SAMPLES)]
    task = Task(
        dataset=MemoryDataset(samples, name="questions"),
        solver=_solver(ending),
        scorer=_scorers(several=name == "several"),
        epochs=NUM_EPOCHS,
        name=name,
    )
    at = folder / name
    settings = {"log_dir": str(at), "log_format": form, "display": "none", "fail_on_error": ending == "stop"}
    eval(task, model="mockllm/model", log_level="critical", max_samples=1, **settings)
    (path,) = at.glob(f"*.{form}")
    if ending == "edit":
        _edit(str(path))
    return path


def _edit(path: str) -> None:
    """Let somebody give the first sample another score in its first epoch; Inspect keeps the earlier one, too."""
    from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, write_eval_log
    from inspect_ai.scorer import ScoreEdit

    log = read_eval_log(path)
    provenance = ProvenanceData(author="reader", reason="a second look")
    edit_score(log, "q-0", "match", ScoreEdit(value="I", provenance=provenance), epoch=1)
    write_eval_log(log, path)


def _solver(ending: str):
    from inspect_ai.model import ChatMessageUser, ModelOutput
    from inspect_ai.solver import solver
    from inspect_ai.util import LimitExceededError

    @solver(name="answers")
    def answers():
        async def solve(state, _):
            number = int(str(state.sample_id)[2:])
            if ending in ("error", "stop") and number == 1:
                raise RuntimeError("the sandbox is gone")
            if ending == "limit" and number == 1:
                raise LimitExceededError("message", value=3, limit=2)
            text = state.target.text if right(number, state.epoch) else "nothing"
            state.messages.append(ChatMessageUser(content="?"))
            state.output = ModelOutput.from_content("none", text)
            return state

        return solve

    return answers()


def _scorers(*, several: bool):
    from inspect_ai.scorer import Score, match, mean, scorer

    @scorer(metrics=[mean()])
    def graded():
        """Letters with partial credit, and no answer."""

        async def score(state, _):
            return Score(value="PNC"[int(str(state.sample_id)[2:])])

        return score

    @scorer(metrics=[mean()])
    def length():
        """Numbers; the sample of number 2 has no score in its second epoch."""

        async def score(state, _):
            unscored = state.sample_id == "q-2" and state.epoch == 2
            return Score(value=math.nan if unscored else len(state.output.completion) / 4)

        return score

    @scorer(metrics={"*": [mean()]})
    def parts():
        """Two values of one scorer."""

        async def score(state, _):
            return Score(value={"short": len(state.output.completion) < 8, "epoch": state.epoch})

        return score

    return [match(), graded(), length(), parts()] if several else [match()]


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (form, _) in LOGS.items():
            shutil.copy(make(name, pathlib.Path(folder)), target / f"{name}.{form}")
