"""The Gymnasium environment plays the bandit, and Gymnasium accepts it."""

from __future__ import annotations

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import lastswitch as ls
from lastswitch import Bandit, Curve
from lastswitch.errors import BanditError, FileError, MissingExtraError, StateError
from lastswitch.model.environment import ENV_ID, LSDEnv
from lastswitch.model.instances import five_arms, random_bandit
from lastswitch.model.states import trajectory
from lastswitch.planning.ruled_problem import RuledProblem

QUIET = Bandit([Curve([0.2, 0.9], [0.1, 0.0]), Curve([0.4], [0.3])], noise="none", initial=[3, -2])


@pytest.mark.parametrize(
    "bandit", [five_arms(), QUIET, random_bandit("mixed", 4, 5, 0)], ids=["five", "quiet", "mixed"]
)
def test_gymnasium_s_checker_finds_nothing(bandit):
    """``check_env`` neither fails nor warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ENV_ID, bandit=bandit, horizon=30).unwrapped)


def test_an_episode_follows_the_model():
    """Observations are the model's states, rewards its means, and the end comes at the horizon."""
    arms = [0, 0, 1, 1, 0]
    env = LSDEnv(QUIET, horizon=len(arms))
    first, _ = env.reset(seed=1)
    steps = [env.step(arm) for arm in arms]
    states = trajectory(QUIET.start(), arms)
    assert np.array_equal([first, *(step[0] for step in steps)], states)
    means = [QUIET.mean(arm, state[arm]) for arm, state in zip(arms, states, strict=False)]
    assert [step[1] for step in steps] == means == [step[4]["mean"] for step in steps]
    assert not any(step[2] for step in steps)
    assert [step[3] for step in steps] == [False] * 4 + [True]


def test_every_state_of_the_longest_streak_and_rest_is_observable():
    """The observation space holds whatever an episode can reach."""
    env = LSDEnv(QUIET, horizon=20)
    observation, _ = env.reset(seed=0)
    for _ in range(20):
        observation, *_ = env.step(1)
        assert env.observation_space.contains(observation)
    assert observation.tolist() == [23, -22]


def test_the_same_seed_gives_the_same_rewards():
    """A seeded reset decides every draw, and another seed decides otherwise."""

    def rewards(seed: int) -> list[float]:
        env = LSDEnv(five_arms(), horizon=200)
        env.reset(seed=seed)
        return [env.step(arm % 5)[1] for arm in range(200)]

    assert rewards(4) == rewards(4)
    assert rewards(4) != rewards(5)


def test_observations_are_the_caller_s_to_keep():
    """Changing an observation changes nothing in the environment."""
    env = LSDEnv(QUIET, horizon=3)
    first, _ = env.reset(seed=0)
    first[:] = 99
    second, *_ = env.step(0)
    assert second.tolist() == [-1, 1]
    second[:] = 99
    assert env.step(0)[0].tolist() == [-2, 2]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_many_environments_run_side_by_side(mode):
    """``make_vec`` works in one process and in several."""
    envs = gymnasium.make_vec(
        ENV_ID, num_envs=2, vectorization_mode=mode, bandit="five-arms", horizon=4
    )
    try:
        first, _ = envs.reset(seed=0)
        assert first.shape == (2, 5)
        observation, reward, _, truncated, _ = envs.step(np.array([0, 1]))
        assert observation.tolist() == [[-2, 1, 1, 1, 1], [1, -2, 1, 1, 1]]
        assert reward.shape == (2,)
        assert not truncated.any()
    finally:
        envs.close()


def test_one_call_registers_and_makes():
    """A process that never imported the package can name the module in the environment's name."""
    code = (
        "import gymnasium as g; "
        "name = 'lastswitch.model.environment:lastswitch/LSD-v0'; "
        "e = g.make(name, bandit='two-arms', horizon=3); "
        "print(e.reset(seed=0)[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[-1, -1]"


@pytest.mark.parametrize("action", [-1, 2, 1.0, "jazz"])
def test_an_action_that_is_no_arm_is_refused(action):
    """The message says which arms there are, and nothing has moved."""
    env = LSDEnv(QUIET, horizon=3)
    env.reset(seed=0)
    with pytest.raises(BanditError, match="an action is an arm from 0 to 1, got"):
        env.step(action)
    assert env.step(0)[0].tolist() == [-1, 1]


def test_stepping_outside_an_episode_is_refused():
    """Neither before the first reset nor after the horizon."""
    env = LSDEnv(QUIET, horizon=1)
    with pytest.raises(StateError, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(StateError, match="call reset"):
        env.step(0)


def test_a_horizon_without_rounds_is_refused():
    """An episode has at least one round."""
    with pytest.raises(BanditError, match="horizon must be a whole number of at least 1, got 0"):
        LSDEnv(QUIET, horizon=0)


def test_an_unknown_instance_is_refused():
    """A bandit given as text is looked up like on the command line."""
    with pytest.raises(FileError, match="did you mean 'five-arms'"):
        LSDEnv("five-arm", horizon=3)


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    """The message ends in a line to paste."""
    monkeypatch.delitem(sys.modules, "lastswitch.model.environment")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gymnasium>=.*the extra 'gym'"):
        import lastswitch.model.environment  # noqa: F401


def test_broken_soft_rules_are_taken_from_the_reward():
    """The rewards of an episode add up to what its schedule is worth; the cost is told."""
    bandit = ls.Bandit(
        [ls.Curve([0.5, 0.9], [0.3]), ls.curves.constant(0.2)],
        noise="none",
        rules=[ls.rules.apart(0, 2, cost=0.25), ls.rules.at_least(1, 1, every=3, cost=0.5)],
    )
    env = LSDEnv(bandit, horizon=6)
    env.reset(seed=0)
    block = [0, 0, 0, 1, 0, 0]
    steps = [env.step(arm) for arm in block]
    assert [info["cost"] for *_, info in steps] == [0.0, 0.25, 0.75, 0.0, 0.0, 0.25]
    problem = RuledProblem.from_bandit(bandit, 6)
    assert sum(reward for _, reward, *_ in steps) == pytest.approx(
        problem.value([(arm,) for arm in block])
    )
