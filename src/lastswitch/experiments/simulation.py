"""Play one policy on one bandit: :func:`simulate` and the :class:`Run` it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lastswitch._checks import check_bandit, check_whole
from lastswitch._random import stream
from lastswitch.errors import ExperimentError, InputTypeError
from lastswitch.learning.tracks import Track

if TYPE_CHECKING:
    from lastswitch.bandit import Bandit
    from lastswitch.curves import Curve

#: Noise is drawn this many rounds at a time: large enough to cost nothing per round.
_BATCH = 4096


class AsksAndTells(Protocol):
    """What :func:`simulate` needs of a policy.

    Examples
    --------
    >>> import lastswitch as ls
    >>> policy: AsksAndTells = ls.FixedCycle([0, 1])
    >>> policy.ask().arm
    0
    """

    def ask(self, subject: Any = None) -> Any:
        """Return the next pull, with at least an ``id`` and an ``arm``."""

    def tell(self, pull_id: Any, reward: float) -> None:
        """Learn what that pull paid."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What was played and what it paid, play by play.

    With several subjects the plays are interleaved: subject ``s`` made plays ``s``,
    ``s + subjects``, ``s + 2 * subjects``, ...

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([([0.5, 1.0], [0.0]), ([0.3], [0.3])], noise="none")
    >>> run = simulate(bandit, ls.FixedCycle([0, 1]), horizon=6, seed=0)
    >>> run.arms.tolist(), run.taus.tolist()
    ([0, 1, 0, 1, 0, 1], [1, 2, 1, 1, 1, 1])
    >>> round(run.total, 2), run.switches, run.plays.tolist()
    (2.4, 5, [3, 3])
    """

    bandit: Bandit
    arms: NDArray[np.integer]
    taus: NDArray[np.integer]
    rewards: NDArray[np.float64]
    subjects: int = 1

    @property
    def horizon(self) -> int:
        """Rounds played by each subject."""
        return len(self.arms) // self.subjects

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What each play paid on average, its mean reward in the state it was played in."""
        means = np.empty(len(self.arms))
        for arm, curve in enumerate(self.bandit.curves):
            here = np.flatnonzero(self.arms == arm)
            means[here] = curve(self.taus[here])
        return means

    @property
    def total(self) -> float:
        """The reward collected."""
        return float(self.rewards.sum())

    @property
    def mean_total(self) -> float:
        """The reward expected of these plays: the total without the noise."""
        return float(self.means.sum())

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """Reward collected after each play."""
        return np.cumsum(self.rewards)

    @cached_property
    def cumulative_means(self) -> NDArray[np.float64]:
        """Reward expected after each play."""
        return np.cumsum(self.means)

    @property
    def plays(self) -> NDArray[np.int64]:
        """How often each arm was played."""
        return np.bincount(self.arms, minlength=self.bandit.n_arms)

    @property
    def switches(self) -> int:
        """How often a subject's next arm differed from its last."""
        return int(np.count_nonzero(self.arms[self.subjects :] != self.arms[: -self.subjects]))

    def states(self) -> dict[tuple[int, int], int]:
        """Count the plays of each ``(arm, tau)``, most played first.

        Examples
        --------
        >>> import lastswitch as ls
        >>> bandit = ls.Bandit([([1.0], [0.0])], noise="none")
        >>> simulate(bandit, ls.FixedCycle([0]), horizon=3, seed=0).states()
        {(0, -2): 1, (0, -1): 1, (0, 1): 1}
        """
        return by_state(self.visits)

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """The states visited as three rows: arm, tau and how often, in order of arm and tau."""
        pairs = np.stack([self.arms.astype(np.int64), self.taus.astype(np.int64)])
        unique, counts = np.unique(pairs, axis=1, return_counts=True)
        return np.vstack([unique, counts[None, :]])

    def __repr__(self) -> str:
        return (
            f"Run({self.horizon} rounds, {self.bandit.n_arms} arms, total {self.total:g}, "
            f"{self.switches} switches)"
        )


def simulate(
    bandit: Bandit, policy: AsksAndTells, horizon: int, seed: int = 0, *, subjects: int = 1
) -> Run:
    """Play ``policy`` on ``bandit`` for ``horizon`` rounds.

    A policy that breaks a hard rule of the bandit is an error; what soft rules cost is no part of
    the rewards.

    Parameters
    ----------
    bandit
        What the arms pay. The policy does not see it.
    policy
        Anything with ``ask`` and ``tell``. Its rewards come at once.
    horizon
        Rounds to play; with several subjects, rounds for each of them.
    seed
        Names the noise. The policy's own randomness is the policy's own seed.
    subjects
        How many subjects take turns, each with its own states. The policy is asked with
        ``subject=0, 1, ...``; with one subject it is asked without.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([([0.5, 1.0], [0.0]), ([0.3], [0.3])])
    >>> simulate(bandit, ls.FixedCycle([0, 1, 1]), horizon=3000, seed=1).total > 1500
    True
    """
    _check(bandit, policy, horizon, seed, subjects)
    names = [None] if subjects == 1 else list(range(subjects))
    _check_starts(bandit, policy, names)
    turns = cycle([(name, Track(bandit.initial).play) for name in names])
    pays = [_Pays(curve) for curve in bandit.curves]
    rng = stream(seed, "noise")
    record = _Record([], [], [])
    for begin in range(0, horizon * subjects, _BATCH):
        noise = _noise(bandit, min(_BATCH, horizon * subjects - begin), rng)
        _play(
            policy,
            zip(noise, turns, strict=False),
            pays,
            bandit.noise == "bernoulli",
            record,
            subjects,
        )
    run = record.run(bandit, subjects)
    _check_rules(run)
    return run


def _check_rules(run: Run) -> None:
    """Refuse a run in which a hard rule of the bandit was broken."""
    from lastswitch.rules import violations

    bandit = run.bandit
    for rule in bandit.rules:
        if not rule.hard:
            continue
        for subject in range(run.subjects):
            rounds = [(arm,) for arm in run.arms[subject :: run.subjects].tolist()]
            found = violations(rule.bound(bandit.names, bandit.groups), rounds)
            if found:
                raise ExperimentError(
                    f"the policy broke the rule {rule} in round {found[0].round}"
                    + ("." if run.subjects == 1 else f" of subject {subject}.")
                )


def reference_run(
    bandit: Bandit, policy: AsksAndTells, horizon: int, seed: int = 0, *, subjects: int = 1
) -> Run:
    """Play as :func:`simulate` does, straight from the model's definition; slow and plain.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.Bandit([([0.5, 1.0], [0.0]), ([0.3], [0.3])])
    >>> slow = reference_run(bandit, ls.FixedCycle([0, 1, 1]), 40, seed=1)
    >>> fast = simulate(bandit, ls.FixedCycle([0, 1, 1]), 40, seed=1)
    >>> bool((slow.rewards == fast.rewards).all())
    True
    """
    from lastswitch.states import transition

    _check(bandit, policy, horizon, seed, subjects)
    rng = stream(seed, "noise")
    states = [bandit.start() for _ in range(subjects)]
    record = _Record([], [], [])
    for _ in range(horizon):
        for subject in range(subjects):
            pull = policy.ask() if subjects == 1 else policy.ask(subject)
            tau = int(states[subject][pull.arm])
            reward = bandit.sample(pull.arm, tau, rng)
            policy.tell(pull.id, reward)
            states[subject] = transition(states[subject], pull.arm)
            record.arms.append(pull.arm)
            record.taus.append(tau)
            record.rewards.append(reward)
    return record.run(bandit, subjects)


def by_state(visits: NDArray[np.int64]) -> dict[tuple[int, int], int]:
    """Return visits, three rows of arm, tau and count, as counts by ``(arm, tau)``, most first.

    Examples
    --------
    >>> by_state(np.array([[0, 1], [1, -2], [3, 5]]))
    {(1, -2): 5, (0, 1): 3}
    """
    arms, taus, counts = visits.tolist()
    order = sorted(range(len(counts)), key=lambda k: (-counts[k], arms[k], taus[k]))
    return {(arms[k], taus[k]): counts[k] for k in order}


class _Record(NamedTuple):
    """What was played so far, in plain lists: the fastest thing to append to."""

    arms: list[int]
    taus: list[int]
    rewards: list[float]

    def run(self, bandit: Bandit, subjects: int) -> Run:
        """Pack the record into arrays of the smallest integers that hold it."""
        arms, taus = np.array(self.arms), np.array(self.taus)
        return Run(
            bandit,
            arms.astype(np.min_scalar_type(bandit.n_arms)),
            taus.astype(np.min_scalar_type(-int(np.abs(taus).max()) - 1)),
            np.array(self.rewards, dtype=float),
            subjects,
        )


class _Pays(dict[int, float]):
    """An arm's mean by state, looked up once per state that differs from shorter streaks."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self.longest = -curve.support().streak

    def __missing__(self, tau: int) -> float:
        if tau < self.longest:  # an arm played for ever is in a new state every round
            return self[self.longest]
        mean = self[tau] = self.curve(tau)
        return mean


def _play(
    policy: AsksAndTells,
    rounds: Iterable[tuple[float, tuple[int | None, Callable[[int], int]]]],
    pays: Sequence[_Pays],
    bernoulli: bool,
    record: _Record,
    subjects: int,
) -> None:
    """Play one batch of rounds, each given as its noise, its subject and how that one moves."""
    ask, tell, n_arms = policy.ask, policy.tell, len(pays)
    arms, taus, rewards = record.arms.append, record.taus.append, record.rewards.append
    for draw, (subject, move) in rounds:
        pull = ask() if subject is None else ask(subject)
        arm = pull.arm
        if not 0 <= arm < n_arms:
            raise ExperimentError(
                f"the policy chose arm {arm} in round {len(record.arms) // subjects}; "
                f"the arms are 0 to {n_arms - 1}."
            )
        tau = move(arm)
        mean = pays[arm][tau]
        reward = (1.0 if draw < mean else 0.0) if bernoulli else mean + draw
        tell(pull.id, reward)
        arms(arm)
        taus(tau)
        rewards(reward)


def _noise(bandit: Bandit, size: int, rng: np.random.Generator) -> list[float]:
    """Draw what ``size`` calls of :meth:`Bandit.sample` would, in the same order.

    Uniform draws to compare with the mean for Bernoulli rewards; else what to add to the mean.
    """
    if bandit.noise == "bernoulli":
        draws: list[float] = rng.random(size).tolist()
    elif bandit.noise == "gaussian":
        draws = (bandit.sigma * rng.standard_normal(size)).tolist()
    else:
        draws = [0.0] * size
    return draws


def _check(bandit: Bandit, policy: AsksAndTells, horizon: int, seed: int, subjects: int) -> None:
    check_bandit("simulate", bandit)
    if not bandit.plays[0] <= 1 <= bandit.plays[1]:
        raise ExperimentError(
            f"a policy plays one arm a round, and this bandit plays {bandit.plays[0]} to "
            f"{bandit.plays[1]}."
        )
    check_whole("horizon", horizon, 1, ExperimentError)
    check_whole("subjects", subjects, 1, ExperimentError)
    check_whole("seed", seed, 0, ExperimentError)
    if not (callable(getattr(policy, "ask", None)) and callable(getattr(policy, "tell", None))):
        raise InputTypeError(
            f"a policy needs ask() and tell(), got {policy!r} of type {type(policy).__name__}; "
            "pass a policy, for example ls.RotationUCB(bandit.n_arms)."
        )
    if getattr(policy, "n_arms", bandit.n_arms) != bandit.n_arms:
        raise ExperimentError(
            f"the policy was built for {policy.n_arms} arms, the bandit has {bandit.n_arms}; "  # type: ignore[attr-defined]
            "build it with n_arms=bandit.n_arms."
        )


def _check_starts(bandit: Bandit, policy: AsksAndTells, subjects: Sequence[int | None]) -> None:
    """Refuse a policy that believes the arms stand elsewhere than the bandit puts them."""
    from lastswitch.learning.policy import Policy

    if not isinstance(policy, Policy):
        return  # how a stranger keeps its states is its own affair
    for subject in subjects:
        believed = policy.track(subject).state()
        if believed != list(bandit.initial):
            who = "" if subject is None else f" for subject {subject}"
            raise ExperimentError(
                f"the policy believes the arms are in states {believed}{who}, the bandit starts "
                f"them in {list(bandit.initial)}; build a fresh policy with initial=bandit.initial."
            )
