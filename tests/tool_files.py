"""Small files as other tools write them, by their published fields."""

import copy
import json

import numpy as np

LEROBOT = {
    "per_task": [
        {
            "task_group": "spatial",
            "task_id": i,
            "metrics": {
                "sum_rewards": [float(i), 2.5],
                "max_rewards": [1.0, 0.5],
                "successes": [True, i == 1],
                "video_paths": [],
            },
        }
        for i in range(2)
    ],
    "per_group": {"spatial": {"pc_success": 75.0, "n_episodes": 4}},
    "overall": {"pc_success": 75.0, "n_episodes": 4},
}
TAU = [
    {"task_id": task, "trial": trial, "reward": float(task == trial), "info": {"source": "user"}, "traj": []}
    for trial in range(2)
    for task in range(3)
]
TAU2 = {
    "timestamp": "2025-06-01T00:00:00",
    "info": {"git_commit": "", "num_trials": 2, "max_steps": 100, "max_errors": 10},
    "tasks": [{"id": "0"}, {"id": "[mobile]on"}],
    "simulations": [
        {
            "id": f"{task}-{trial}",
            "task_id": task,
            "trial": trial,
            "seed": 3,
            "termination_reason": "user_stop" if trial else "max_steps",
            "reward_info": {"reward": float(trial)},
            "messages": [],
        }
        for trial in range(2)
        for task in ("0", "[mobile]on")
    ],
}
EVALPLUS = {
    "date": "2025-01-01 00:00",
    "hash": "fe585eb4df8c88d844eeb463ea4d0302",
    "eval": {
        "HumanEval/0": [
            {"task_id": "HumanEval/0", "solution": "", "base_status": "pass", "plus_status": "pass"},
            {"task_id": "HumanEval/0", "solution": "", "base_status": "fail", "plus_status": "pass"},
        ],
        "HumanEval/1": [
            {"task_id": "HumanEval/1", "solution": "", "base_status": "pass", "plus_status": "timeout"},
            {"task_id": "HumanEval/1", "solution": "", "base_status": "timeout", "plus_status": "fail"},
        ],
    },
}
PROMPTFOO = {  # three tests, each repeated twice, of which one has three sets of variables
    "config": {"evaluateOptions": {"repeat": 2}},
    "results": {
        "results": [
            {
                "testIdx": index,
                "promptIdx": 0,
                "provider": {"id": "openai:gpt-4o", "label": ""},
                "success": index % 3 > 0,
                "score": 1.0,
                "vars": {"question": question},
                "testCase": {"vars": {"question": question}, "assert": [{"type": "equals", "value": question}]},
                "error": None,
            }
            for index, question in enumerate("aabcdbcdee")
        ]
    },
}


def harbor(tasks, count=2):
    """A job of so many trials of each task."""
    named = (task[:32].rstrip("-_") for task in tasks for _ in range(count))
    names = [f"{name}__xYz7Q{number:02}" for number, name in enumerate(named)]
    rewards = {"1.0": names[::2], "0.0": names[1::2]}
    evals = {"agent__model__tasks": {"reward_stats": {"reward": rewards}, "exception_stats": {}}}
    return {"n_total_trials": len(names), "stats": {"evals": evals}}


FILES = {"lerobot": LEROBOT, "tau": TAU, "tau2": TAU2, "evalplus": EVALPLUS}


def written(folder, document, name="results.json"):
    path = folder / name
    path.write_text(json.dumps(document))
    return path


DROP = object()  # in place of another value


def edited(document, *keys, value):
    """The document with another value, or without a field, at this place."""
    document = copy.deepcopy(document)
    *path, last = keys
    inner = document
    for key in path:
        inner = inner[key]
    if value is DROP:
        del inner[last]
    else:
        inner[last] = value
    return document


def monitor(path, returns, *, columns="r,l,t", more="", head='{"t_start": 1.5, "env_id": "Ant-v4"}', end="\r\n"):
    """A monitor; `csv.DictWriter` ends its lines in this way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{value},100,{place + 0.5}{more}\r\n" for place, value in enumerate(returns))
    path.write_bytes(f"#{head}\n{columns}\r\n{rows}".encode().removesuffix(b"\r\n") + end.encode())
    return path


def evaluations(path, rows, *, steps=(1000, 2000), **changed):
    """The arrays of an evaluation, one row for each checkpoint; None leaves one out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {"timesteps": np.array(steps), "results": np.asarray(rows), "ep_lengths": np.full(np.shape(rows), 100)}
    np.savez(path, **{name: array for name, array in {**arrays, **changed}.items() if array is not None})
    return path
