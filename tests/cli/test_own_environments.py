"""`jaxcert rollout` with an environment and a policy of one's own, in modules of the working directory."""

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.cli import _rollout_command
from jaxcert.report import Protocol
from jaxcert.rollouts import collect
from jaxcert.rollouts._policy import key_apart
from jaxcert.tables import read_returns, returns_facts
from jaxcert.training import save_policy

ENVS = """
import dataclasses
import jax
import jax.numpy as jnp
from jaxcert.tasks import from_functions

def observed(place, state):
    return jnp.stack([place - state, place])

def reset(place, key):
    return jnp.zeros_like(place), observed(place, jnp.zeros_like(place))

def step(place, state, action, key):
    state = state + action[0] * jax.random.uniform(key, dtype=state.dtype)
    return state, observed(place, state), (jnp.abs(state - place) < 0.2).astype(state.dtype), False

def sample(key):
    return jax.random.uniform(key, minval=-1, maxval=1)

def make():
    return ENV

def needs(number):
    return ENV

def fails():
    raise KeyError("no such task")

ENV = from_functions(reset, step, sample, episode_length=8, support=(0.0, 8.0))
NAMED = dataclasses.replace(ENV, name="places")
TAKEN = dataclasses.replace(
    ENV,
    sample_task=lambda key: {"returns": sample(key)},
    environment=lambda task: ENV.environment(task["returns"]),
)
LONG = dataclasses.replace(ENV, episode_length=10**12)
NO_TASKS = dataclasses.replace(ENV, sample_task=lambda key: sample(key)[0])
NUMBER = 3
"""
POLICIES = """
from pathlib import Path

import jax
import jax.numpy as jnp
from jaxcert.rollouts import Policy

def push(obs, key):
    return 0.3 * jnp.sign(obs[:1])

GAIN = Policy(lambda gain, obs, key: gain * jnp.sign(obs[:1]), jnp.float32(0.3), deterministic=True)
SAMPLED = Policy(lambda params, obs, key: jax.random.normal(key, (1,)), (), deterministic=False)

class Walker:
    def push(self, obs, key):
        return obs[:1]

METHOD = Walker().push

def blind(obs):
    return obs[:1]

def unknown(obs, key):
    return obs[:1] * gain

def indexed(obs, key):
    return {}["push"]

NUMBER = 3
ODD = Policy(lambda params, obs, key: obs[:1], (), deterministic="yes")
OBJECT = Policy(lambda params, obs, key: obs[:1], [object()])
"""
OWN = ("own_policies:push", "--env", "own_envs:ENV")
SIZES = ("--tasks", 6, "--rollouts", 4, "--seed", 7)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working directory, with two modules; what is imported from it is forgotten afterwards."""
    (tmp_path / "own_envs.py").write_text(ENVS)
    (tmp_path / "own_policies.py").write_text(POLICIES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    forget(tmp_path)
    yield tmp_path
    forget(tmp_path)


def forget(folder):
    """Nothing of the folder is imported, as in a new process."""
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(str(folder)):
            del sys.modules[name]


def outputs(folder):
    return sorted(file.name for file in folder.iterdir() if file.suffix != ".py" and file.name != "__pycache__")


@pytest.mark.parametrize(
    ("policy", "env", "title"),
    [
        ("own_policies:push", "own_envs:ENV", "own_policies:push:"),
        ("own_policies:GAIN", "own_envs:make", "own_policies:GAIN, deterministic:"),
        ("own_policies:SAMPLED", "own_envs:ENV", "own_policies:SAMPLED, stochastic:"),
    ],
)
def test_returns_are_those_of_collect(folder, policy, env, title):
    outcome = command("rollout", policy, "--env", env, *SIZES, "--out", "r.npz")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{title} 6 tasks, 4 rollouts each, seed 7\n")
    own, mine = sys.modules["own_envs"].ENV, getattr(sys.modules["own_policies"], policy.partition(":")[2])
    key_tasks, key = jax.random.split(key_apart(jax.random.key(7)))
    tasks = own.sample_tasks(key_tasks, 6)
    wanted = collect(own, mine, tasks, jax.random.fold_in(key, 0), num_rollouts=4)
    np.testing.assert_array_equal(read_returns("r.npz").returns, wanted)
    np.testing.assert_array_equal(np.load("r.npz")["task"], tasks)
    facts = returns_facts("r.npz")
    assert (facts["policy"], facts["environment"], facts["episode_length"]) == (policy, env, 8)
    assert facts["deterministic"] is {"push": None, "GAIN": True, "SAMPLED": False}[policy.partition(":")[2]]
    assert command("certify", "r.npz", "--support", 0, 8, "--threshold", 1, "--delta", 0.05).status == 0


def digest(policy="own_policies:push"):
    forget(Path.cwd())
    assert command("rollout", policy, *OWN[1:], *SIZES, "--out", "digest.npz", "--force").status == 0
    return returns_facts("digest.npz")["policy_sha256"]


def test_the_digest_is_of_name_module_and_parameters(folder):
    first, file = digest(), folder / "own_policies.py"
    assert digest() == first
    assert len({first, digest("own_policies:GAIN"), digest("own_policies:SAMPLED")}) == 3
    file.write_text(f"{POLICIES}\n# another one\n")
    assert digest() != first
    (folder / "gain.txt").write_text("0.3")
    file.write_text(POLICIES.replace("jnp.float32(0.3)", 'jnp.float32(Path("gain.txt").read_text())'))
    one = digest("own_policies:GAIN")
    (folder / "gain.txt").write_text("0.4")
    assert digest("own_policies:GAIN") != one


def test_a_protocol_locks_them(folder):
    lock = ("lock", "p.toml", "--support", 0, 8, "--delta", 0.05, *SIZES, "--threshold", 1, "--deterministic")
    assert command(*lock, "--policy", "own_policies:GAIN", "--environment", "own_envs:ENV").status == 0
    rollout = ("rollout", "own_policies:GAIN", "--env", "own_envs:ENV", "--protocol", "p.toml")
    assert command(*rollout, "--out", "r.npz").status == 0
    assert returns_facts("r.npz")["policy_sha256"] == Protocol.read("p.toml").policy_sha256
    assert command("certify", "r.npz", "--protocol", "p.toml", "--json", "c.json").status == 0
    assert command("verify", "c.json", "r.npz", "--protocol", "p.toml").status == 0
    other = (*rollout[:4], "--protocol", "p.toml", "--out", "other.npz")
    message = refused("rollout", "own_policies:SAMPLED", *other[2:])
    assert "SAMPLED is a policy with deterministic=False; expected Policy(..., deterministic=True)" in message
    assert "is a policy with deterministic=None" in refused("rollout", "own_policies:push", *other[2:])
    assert "environment is own_envs:make, the protocol says own_envs:ENV" in refused(
        *rollout[:2], "--env", "own_envs:make", *other[4:]
    )
    forget(folder)
    (folder / "own_policies.py").write_text(POLICIES.replace("0.3", "0.4"))
    assert "p.toml: policy_sha256 is " in refused(*other)
    assert not (folder / "other.npz").exists()


def test_a_protocol_locks_the_environment_itself(folder):
    lock = ("lock", "p.toml", "--support", 0, 8, "--delta", 0.05, *SIZES, "--threshold", 1)
    assert command(*lock, "--environment", "own_envs:ENV").status == 0
    rollout = ("rollout", *OWN, "--protocol", "p.toml", "--out", "r.parquet")
    (folder / "own_envs.py").write_text(ENVS.replace("< 0.2", "< 0.9"))
    forget(folder)
    assert "environment_sha256" in refused(*rollout)
    (folder / "own_envs.py").write_text(ENVS)
    forget(folder)
    assert command(*rollout).status == 0


def test_what_is_hashed_is_what_is_run(folder):
    """Also where a file was changed within the second in which it was compiled before."""
    file = folder / "own_policies.py"
    assert command("rollout", *OWN, *SIZES, "--out", "a.npz").status == 0
    times = file.stat()
    file.write_text(POLICIES.replace("0.3 * jnp.sign(obs[:1])", "-.3 * jnp.sign(obs[:1])", 1))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    forget(folder)
    assert command("rollout", *OWN, *SIZES, "--out", "b.npz").status == 0
    assert not np.array_equal(*(read_returns(folder / name).returns for name in ("a.npz", "b.npz")))


def test_what_is_said_to_be_sampled_is_sampled():
    sampled = ("--env", "own_envs:ENV", *SIZES, "--stochastic", "--out", "r.npz")
    assert command("rollout", "own_policies:SAMPLED", *sampled).status == 0
    message = refused("rollout", "own_policies:push", *sampled, "--force")
    assert "deterministic=None; expected Policy(..., deterministic=False), as --stochastic or a protocol" in message


def test_until_each_task_is_decided(folder):
    adaptive = ("rollout", *OWN, "--tasks", 30, "--seed", 7, "--threshold", 1, "--out", "run.npz", "--json", "run.json")
    outcome = command(*adaptive)
    assert outcome.out.startswith("own_policies:push: 30 tasks, seed 7, beta 0.05\n")
    facts = json.loads((folder / "run.json").read_text())["certificates"][0]["rollouts"]
    assert (facts["policy"], facts["environment"], facts["deterministic"]) == (OWN[0], "own_envs:ENV", None)
    assert outputs(folder) == ["run.json", "run.npz"]


def test_a_policy_file_that_was_trained_there(folder):
    rng = np.random.default_rng(0)
    normaliser = SimpleNamespace(mean=np.zeros(2), std=np.ones(2))
    layers = {"hidden_0": {"kernel": rng.normal(size=(2, 4)), "bias": np.zeros(4)}}
    layers |= {"hidden_1": {"kernel": rng.normal(size=(4, 2)), "bias": np.zeros(2)}}
    save_policy("places.npz", (normaliser, {"params": layers}, None), environment="places")
    rollout = ("rollout", "places.npz", *SIZES, "--out", "r.npz")
    assert "holds a policy for 'places'; expected one of" in refused(*rollout)
    assert "holds a policy for 'places', not for ''" in refused(*rollout, "--env", "own_envs:ENV")
    outcome = command(*rollout, "--env", "own_envs:NAMED")
    assert outcome.out.startswith("places.npz, deterministic: 6 tasks"), outcome.err
    facts = returns_facts("r.npz")
    assert (facts["environment"], len(facts["environment_sha256"])) == ("places", 64)
    assert command(*rollout, "--env", "own_envs:NAMED", "--stochastic", "--force").status == 0


BROKEN = {
    "own_divides.py": "1 / 0",
    "own_lacks.py": "import a_package_that_is_not_there",
    "own_syntax.py": "def (",
    "own_program.py": "raise SystemExit('usage: own_program')",
}


CANNOT_RUN = """
P:push own_none:ENV => there is no module own_none in
P.sub:push E:ENV => there is no module own_policies.sub in
P:pull E:ENV => own_policies:pull: the module own_policies has no 'pull'
P:push E => --env is 'own_envs'; expected MODULE:NAME, such as
folder/P:push E:ENV => POLICY is 'folder/own_policies:push'; expected MODULE:NAME
P: E:ENV => POLICY is 'own_policies:'; expected MODULE:NAME
P E:ENV => own_policies: no file there; expected a policy file, one of cheetah
simple_grid E:ENV => simple_grid is shipped with its environment; expected a policy of your own
P:push - => own_policies:push is a policy of your own; expected its environment, --env
P:NUMBER E:ENV => policy is 3; expected a Policy(apply, params), or a function of
P:METHOD E:ENV => expected a Policy(apply, params), or a function of an observation
P:OBJECT E:ENV => the parameters of the policy hold a object; expected arrays
P:blind E:ENV => not take an observation of float32[2]: blind() takes 1
P:unknown E:ENV => NameError: name 'gain' is not defined (own_policies.py, line
P:indexed E:ENV => does not run in the environment: KeyError: 'push' (own_policies.py
P:push E:NUMBER => own_envs:NUMBER is of type int; expected a MultiTaskEnv, or
P:push E:needs => own_envs:needs() fails: TypeError: needs() missing 1 required
P:push E:fails => own_envs:fails() fails: KeyError: 'no such task' (own_envs.py, line
P:push E:dataclasses => own_envs:dataclasses is of type module; expected
P:push E:NO_TASKS => does not run in the environment: IndexError:
P:push E:TAKEN => tasks have parameters called returns, which mean something else
sys:path E:ENV => sys:path: the module sys has no file
own_divides:push E:ENV => own_divides cannot be imported: ZeroDivisionError: division by zero
own_lacks:push E:ENV => ModuleNotFoundError: No module named 'a_package_that_is_not_there'
own_syntax:push E:ENV => own_syntax cannot be imported: SyntaxError:
own_program:push E:ENV => own_program cannot be imported: SystemExit: usage: own_program
P:ODD E:ENV => has deterministic='yes'; expected True, False or None
P:push E:LONG => has episode_length=1000000000000; expected one from 1 to
"""


@pytest.mark.parametrize("line", CANNOT_RUN.strip().split("\n"))
def test_what_cannot_be_run_is_told_in_words(folder, monkeypatch, line):
    """A policy, its environment, and a part of the message; P and E stand for the two modules."""
    monkeypatch.setattr(_rollout_command, "collect", None)  # before any rollout
    for name, text in BROKEN.items():
        (folder / name).write_text(f"{text}\n")
    given, words = line.split(" => ")
    policy, env = re.sub(r"\bE\b", "own_envs", re.sub(r"\bP\b", "own_policies", given)).split(" ")
    options = () if env == "-" else ("--env", env)
    assert words in refused("rollout", policy, *options, *SIZES, "--out", "r.npz")
    assert outputs(folder) == []


def test_no_output_replaces_a_module(folder):
    adaptive = ("rollout", *OWN, "--tasks", 6, "--threshold", 1, "--out", "r.npz", "--force")
    assert "POLICY and --json name the same file" in refused(*adaptive, "--json", "own_policies.py")
    assert "--env and --json name the same file" in refused(*adaptive, "--json", "own_envs.py")
    assert (folder / "own_policies.py").read_text() == POLICIES
    (folder / "own.py").write_text(ENVS + POLICIES)
    both = ("rollout", "own:push", "--env", "own:ENV", *SIZES, "--out", "r.npz")
    assert command(*both).status == 0  # one file has both
