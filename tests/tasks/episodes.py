"""One episode as a library has it, with the keys that the documentation of ``collect`` and the adapters states."""

import jax

from jaxcert.rollouts._policy import episode_key


def keys_of_episode(key, episode, num_episodes):
    """For the environment and for the actions."""
    return jax.random.split(jax.random.split(episode_key(key), num_episodes)[episode])


def total_of_functions(reset, step, policy, task, keys, length):
    """The return of an episode of two functions, as ``from_functions`` takes them."""
    rng, actions = keys
    rng, now = jax.random.split(rng)
    state, obs = reset(task, now)
    total = 0.0
    for t in range(length):
        rng, now = jax.random.split(rng)
        action = policy(obs, jax.random.fold_in(actions, t))
        state, obs, reward, done = step(task, state, action, now)
        total += float(reward)
        if done:
            break
    return total
