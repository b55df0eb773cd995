"""Scaled robots against MuJoCo's own compiler, and the authors' version against returns of their policies."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.returns import sample_returns
from jaxcert.rollouts import Policy, collect
from jaxcert.tasks.locomotion import Task, _environments, cheetah, walker

mujoco = pytest.importorskip("mujoco", reason="needs the extra brax")
pytest.importorskip("mujoco_playground", reason="needs the extra brax")
# MuJoCo and its friends warn; its own code promotes types and ranks, and writes a log into the folder it is called in.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("there", "promoting")]
ROBOTS = {"cheetah": cheetah, "walker": walker}
ENDS = {"cheetah": ("bthigh", "fthigh"), "walker": ("right_thigh", "left_thigh")}
SCALES = [(1.0, 1.0), (0.5, 2.0), (1.7, 0.6)]


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    env = ROBOTS[request.param]()
    return request.param, env.environment(Task(jnp.float32(1), jnp.float32(1))).robot


def test_loading_leaves_no_log_and_hides_no_warning(tmp_path):
    """The message about the model file that Playground ships is ours to know, any other is the user's."""
    _environments._multi_task.cache_clear()
    for make in ROBOTS.values():
        make()
    body = "<body><freejoint/><geom size='1'/></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    data.qpos[:] = np.nan
    with (
        pytest.warns(RuntimeWarning, match="MuJoCo: Nan, Inf or huge value in QPOS"),
        _environments._without_known_warning(),
    ):
        mujoco.mj_step(model, data)
    assert list(tmp_path.iterdir()) == []
    assert mujoco.get_mju_user_warning() is None


def compiled(name: str, mass: float, size: float):
    """The model that MuJoCo compiles from a description with the lengths and masses changed."""
    from mujoco_playground._src.dm_control_suite import cheetah as cheetah_module
    from mujoco_playground._src.dm_control_suite import walker as walker_module

    module = {"cheetah": cheetah_module, "walker": walker_module}[name]
    spec = mujoco.MjSpec.from_file(str(module._XML_PATH))
    plain = spec.compile()
    spec.compiler.settotalmass = -1
    sizes = {geom.name: plain.geom(geom.name).size for geom in spec.geoms}
    volume = {geom: radius**2 * (2 * half + 4 * radius / 3) for geom, (radius, half, _) in sizes.items()}
    for body in spec.bodies[1:]:
        total = sum(volume[geom.name] for geom in body.geoms)
        for geom in body.geoms:
            geom.mass = mass * plain.body(body.name).mass[0] * volume[geom.name] / total
    torso = spec.geom("torso")
    if name == "cheetah":
        torso.fromto = [-0.5 * size, 0, 0, 0.5 * size, 0, 0]
        head = spec.geom("head")
        head.pos = [0.6 * size, 0, 0.1]
    else:
        torso.size = [0.07, 0.3 * size, 0]
    along = 0 if name == "cheetah" else 2
    for end in ENDS[name]:
        body = spec.body(end)
        place = np.array(body.pos)
        place[along] *= size
        body.pos = place
    return spec.compile()


def tensor(inertia, quat):
    """In the frame of the body."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quat, float))
    rotation = matrix.reshape(3, 3)
    return rotation @ np.diag(np.asarray(inertia, float)) @ rotation.T


def beside(name: str, seed: int):
    """A scaled environment, its first state, and MuJoCo's data in the same posture."""
    environment = ROBOTS[name]().environment(Task(jnp.float32(1.3), jnp.float32(0.7)))
    state = jax.jit(environment.reset)(jax.random.key(seed))
    model = compiled(name, 1.3, 0.7)
    model.opt.timestep, model.opt.iterations = 0.01 if name == "cheetah" else 0.0025, 50
    data = mujoco.MjData(model)
    data.qpos[:] = state.data.qpos
    return environment, state, model, data


@pytest.mark.parametrize(("mass", "size"), SCALES)
def test_the_scaled_model_is_the_one_that_mujoco_compiles(robot, mass, size):
    name, shared = robot
    fields = jax.jit(shared.scaled)(Task(jnp.float32(mass), jnp.float32(size)))
    wanted = compiled(name, mass, size)
    for field in ("body_mass", "body_subtreemass", "body_pos", "body_ipos", "geom_size", "geom_pos", "geom_rbound"):
        np.testing.assert_allclose(fields[field], getattr(wanted, field), rtol=1e-4, atol=1e-5, err_msg=field)
    for body in range(wanted.nbody):
        np.testing.assert_allclose(
            tensor(fields["body_inertia"][body], fields["body_iquat"][body]),
            tensor(wanted.body_inertia[body], wanted.body_iquat[body]),
            rtol=1e-4,
            atol=1e-5,
        )
    for field in ("dof_invweight0", "body_invweight0"):
        np.testing.assert_allclose(fields[field], getattr(wanted, field), rtol=1e-3, atol=1e-4, err_msg=field)


def test_steps_are_those_of_mujoco(robot):
    """Twenty steps with fixed actions from one posture; contacts are solved alike up to single precision."""
    name, _ = robot
    environment, state, model, data = beside(name, 0)
    actions = 0.3 * np.random.default_rng(0).uniform(-1, 1, (20, environment.action_size))
    step = jax.jit(environment.step)
    for action in actions:
        state = step(state, jnp.asarray(action, jnp.float32))
        data.ctrl[:] = action
        for _ in range(environment.robot.num_substeps):
            mujoco.mj_step(model, data)
    np.testing.assert_allclose(state.data.qpos, data.qpos, atol=0.02)


def test_observation_and_reward_are_those_of_the_suite(robot):
    """After one step, from what MuJoCo has, with the formulas written out again."""
    name, _ = robot
    environment, state, model, data = beside(name, 1)
    action = np.full(6, 0.4)
    after = jax.jit(environment.step)(state, jnp.asarray(action, jnp.float32))
    data.ctrl[:] = action
    mujoco.mj_step(model, data, nstep=environment.robot.num_substeps)
    logs, speed = np.log([1.3, 0.7]), data.sensor("torso_subtreelinvel").data[0]
    axes, (height, up) = data.xmat.reshape(-1, 3, 3), (data.body("torso").xpos[2], data.body("torso").xmat[8])
    if name == "cheetah":
        seen, reward = [data.qpos[1:], data.qvel, logs], np.clip(speed / 10, 0, 1)
    else:
        seen = [axes[1:, 0, [0, 2]].ravel(), [up], data.qvel, logs]
        standing = 1 if height >= 1.2 else 0.1 ** (((1.2 - height) / 0.6) ** 2)
        reward = (3 * standing + (1 + up) / 2) / 4 * (5 * np.clip(speed / 6, 0, 1) + 1) / 6
    np.testing.assert_allclose(after.obs, np.concatenate(seen), atol=0.02)
    np.testing.assert_allclose(after.reward, reward, atol=2e-3)
    assert after.done == 0


def test_episodes_begin_as_they_should_and_end_where_the_simulation_breaks_down(robot):
    name, shared = robot
    environment = ROBOTS[name]().environment(Task(jnp.float32(1), jnp.float32(1)))
    states = jax.jit(jax.vmap(environment.reset))(jax.random.split(jax.random.key(0), 500))
    qpos, (low, high) = np.asarray(states.data.qpos), shared.mj_model.jnt_range[3:].T
    assert np.all(qpos[:, :2] == 0)
    assert not np.any(states.data.qvel)
    assert np.all((qpos[:, 3:] >= low) & (qpos[:, 3:] <= high))
    np.testing.assert_allclose(
        qpos[:, 3:].mean(axis=0), (low + high) / 2, atol=5 * (high - low).max() / 12**0.5 / 500**0.5
    )
    pitch = np.ptp(qpos[:, 2])
    assert pitch == 0 if name == "cheetah" else 6 < pitch < 2 * np.pi
    one = jax.tree.map(lambda leaf: leaf[0], states)
    broken = one._replace(data=one.data.replace(qvel=one.data.qvel + jnp.nan))
    after = jax.jit(environment.step)(broken, jnp.zeros(6))
    assert after.done == 1
    assert np.isnan(after.reward)  # so that no certificate counts the episode as good


class Reference:
    """An authors' policy, with twenty of the tasks on which its shipped returns were made."""

    def __init__(self, name: str) -> None:
        folder = Path(__file__).parents[3] / "shared" / "data"
        if not (folder / f"{name}_policy.npz").is_file():
            pytest.skip("the reference policies are not here")
        with np.load(folder / f"{name}_policy.npz") as stored:
            self.params = {key: stored[key] for key in stored.files}
        with np.load(folder / f"{name}_returns.npz") as stored:
            scales = stored["mass_scale"], stored["length_scale"]
        returns = sample_returns(name)
        chosen = np.linspace(0, len(returns) - 1, 20).astype(int)
        self.returns = returns[chosen]
        self.tasks = Task(*(jnp.asarray(scale[chosen], jnp.float32) for scale in scales))

    @staticmethod
    def act(params, obs, key):
        x = (obs - params["obs_mean"]) / params["obs_std"]
        for i in range(4):
            x = jax.nn.silu(x @ params[f"w{i}"] + params[f"b{i}"])
        return jnp.tanh((x @ params["w4"] + params["b4"])[..., :6])


def assert_same_means(got, wanted):
    """Within three standard errors or 1 % in every task, and 6 in the root mean square beyond what chance explains.

    Tasks count by their precision: of twenty walkers on one task, one that falls moves the mean by 40.
    """
    distance = got.mean(axis=1) - wanted.mean(axis=1)
    error = np.sqrt(got.var(axis=1, ddof=1) / got.shape[1] + wanted.var(axis=1, ddof=1) / wanted.shape[1])
    assert np.average(distance**2 - error**2, weights=error**-2) <= 6**2
    assert np.all((np.abs(distance) <= 3 * error) | (np.abs(distance) <= 0.01 * wanted.mean(axis=1)))


def rolled_out(name, reference):
    policy = Policy(reference.act, jax.tree.map(jnp.asarray, reference.params))
    env = ROBOTS[name](authors_version=True)
    return np.asarray(collect(env, policy, reference.tasks, jax.random.key(0), num_rollouts=20))


@pytest.mark.slow
def test_the_authors_cheetah_reaches_its_returns():
    """Task means of twenty tasks times twenty rollouts against the shipped returns."""
    reference = Reference("cheetah")
    assert_same_means(rolled_out("cheetah", reference), reference.returns)
