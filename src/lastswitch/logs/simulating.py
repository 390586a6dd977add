"""Simulated logs whose truth is known: for tests, for power checks, for trying things out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.arrays import FloatArray
from lastswitch._utils.checks import check_bandit, check_whole, is_number
from lastswitch._utils.extras import load_extra
from lastswitch._utils.random import stream
from lastswitch.errors import LogError
from lastswitch.model.bandit import Bandit
from lastswitch.model.states import moved

#: From the states of all subjects, shape (subjects, arms), to the chance of each arm.
Chooser: TypeAlias = Callable[[NDArray[np.int64]], FloatArray]

_START = np.datetime64("2024-01-01T12:00:00", "us")


def simulate(
    bandit: Bandit,
    subjects: int,
    rounds: int,
    seed: int = 0,
    *,
    policy: Chooser | Sequence[float] | None = None,
    idle: float = 0.0,
    spread: float = 0.0,
    shift: float = 0.0,
) -> Any:
    """Return a log as an Arrow table: ``subject, time, arm, reward, propensity``, a round a day.

    Parameters
    ----------
    bandit
        The truth.
    subjects, rounds
        Everyone lives through ``rounds`` days.
    policy
        The chance of each arm: None for equal chances, a list of chances, or a function of the
        states of all subjects (subjects, arms) returning chances of that shape.
    idle
        The chance that a day passes without an event, which rests every arm.
    spread
        How much subjects differ, from 0 (not at all) to 1: every other one, from the first on, is
        paid more and the others less than the curves say, by this share of what the mean allows.
    shift
        The same in reward: every other subject is paid this much more, the others this much less.

    Examples
    --------
    >>> log = simulate(Bandit([([1.0], [0.0])]), subjects=1, rounds=3, seed=0)
    >>> log["reward"].to_pylist()
    [1.0, 0.0, 0.0]
    """
    check_whole("subjects", subjects, 1, LogError)
    check_whole("rounds", rounds, 1, LogError)
    check_whole("seed", seed, 0, LogError)
    check_bandit("simulate", bandit)
    if not (is_number(idle) and is_number(spread) and 0 <= idle < 1 and 0 <= spread <= 1):
        raise LogError(
            f"idle must lie in [0, 1) and spread in [0, 1], got {idle!r} and {spread!r}."
        )
    if not (is_number(shift) and abs(shift) <= 1):
        raise LogError(f"shift must lie in [-1, 1], got {shift!r}.")
    choose = _chooser(policy, bandit.n_arms)
    rng = {use: stream(seed, "logs", use) for use in ("arm", "idle", "noise")}
    side = np.where(np.arange(subjects) % 2 == 0, 1.0, -1.0)
    states = np.tile(bandit.start(), (subjects, 1))
    everyone = np.arange(subjects)
    days = []
    for day in range(rounds):
        chances = _checked(choose(states), states.shape)
        arms = _drawn(chances, rng["arm"])
        active = rng["idle"].random(subjects) >= idle
        mean = _means(bandit, arms, states[everyone, arms])
        mean = np.clip(mean + side * (spread * np.minimum(mean, 1 - mean) + shift), 0.0, 1.0)
        reward = _rewards(bandit, mean, rng["noise"])
        days.append(
            (
                everyone[active],
                np.full(active.sum(), day),
                arms[active],
                reward[active],
                chances[everyone, arms][active],
            )
        )
        played = np.zeros(states.shape, dtype=np.bool_)
        played[everyone[active], arms[active]] = True
        states = moved(states, played)
    return _table(bandit, [np.concatenate(column) for column in zip(*days, strict=True)])


def _chooser(policy: Chooser | Sequence[float] | None, n_arms: int) -> Chooser:
    if callable(policy):
        return policy
    row = np.full(n_arms, 1 / n_arms) if policy is None else np.asarray(policy, dtype=float)
    return lambda states: np.broadcast_to(row, (len(states), len(row)))


def _checked(chances: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    if chances.shape != shape or (chances < 0).any() or not np.allclose(chances.sum(axis=1), 1):
        raise LogError(
            f"a policy must give each of {shape[1]} arms a chance of at least 0, summing to 1 per "
            f"subject; got an array of shape {chances.shape}."
        )
    return chances


def _drawn(chances: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    height = np.cumsum(chances, axis=1)
    draw = rng.random((len(chances), 1)) * height[:, -1:]
    arms: NDArray[np.int64] = np.minimum((draw >= height).sum(axis=1), chances.shape[1] - 1)
    return arms


def _means(bandit: Bandit, arms: NDArray[np.int64], taus: NDArray[np.int64]) -> FloatArray:
    means = np.empty(len(arms))
    for arm in range(bandit.n_arms):
        mine = arms == arm
        means[mine] = bandit.curves[arm](taus[mine])
    return means


def _rewards(bandit: Bandit, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    if bandit.noise == "bernoulli":
        return (rng.random(len(mean)) < mean).astype(float)
    if bandit.noise == "gaussian":
        return mean + bandit.sigma * rng.standard_normal(len(mean))
    return mean


def _table(bandit: Bandit, columns: list[NDArray[Any]]) -> Any:
    arrow = load_extra("pyarrow", "logs")
    subject, day, arm, reward, propensity = columns
    order = np.lexsort((day, subject))
    names = arrow.array(list(bandit.names))
    return arrow.table(
        {
            "subject": arrow.array(subject[order] + 1),
            "time": arrow.array(_START + day[order] * np.timedelta64(1, "D")),
            "arm": names.take(arrow.array(arm[order])),
            "reward": arrow.array(reward[order]),
            "propensity": arrow.array(propensity[order]),
        }
    )
