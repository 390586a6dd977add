"""Play one policy on one bandit: :func:`simulate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lastswitch._utils.checks import check_bandit, check_whole
from lastswitch._utils.random import stream
from lastswitch.errors import ExperimentError, InputTypeError
from lastswitch.experiments.run import Run
from lastswitch.learning.policy import ONE_PLAY
from lastswitch.learning.policy.tracks import Track
from lastswitch.model.states import moved

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit
    from lastswitch.model.curves import Curve

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


def simulate(
    bandit: Bandit, policy: AsksAndTells, horizon: int, seed: int = 0, *, subjects: int = 1
) -> Run:
    """Play ``policy`` on ``bandit`` for ``horizon`` rounds.

    A policy that breaks a hard rule of the bandit is an error. What silence pays and what broken
    soft rules cost are part of what the run earns (:attr:`Run.earned`), and no part of the rewards
    that the policy is told.

    Parameters
    ----------
    bandit
        What the arms pay. The policy does not see it.
    policy
        Anything with ``ask`` and ``tell``, or, if it plays several arms in a round or none,
        ``ask_round`` and ``tell``. Its rewards come at once.
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
    one_play = bandit.plays == ONE_PLAY
    turns = cycle([(name, Track(bandit.initial)) for name in names])
    pays = [_Pays(curve) for curve in bandit.curves]
    rng = stream(seed, "noise")
    record = _Record([], [], [], [])
    if not one_play:
        _play_rounds(policy, islice(turns, horizon * subjects), pays, bandit, rng, record)
        return record.run(bandit, subjects).check_rules()
    moves = cycle([(name, track.play) for name, track in islice(turns, subjects)])
    for begin in range(0, horizon * subjects, _BATCH):
        noise = _noise(bandit, min(_BATCH, horizon * subjects - begin), rng)
        _play(
            policy,
            zip(noise, moves, strict=False),
            pays,
            bandit.noise == "bernoulli",
            record,
            subjects,
        )
    return record.run(bandit, subjects).check_rules()


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
    _check(bandit, policy, horizon, seed, subjects)
    rng = stream(seed, "noise")
    states: list[list[int]] = [bandit.start().tolist() for _ in range(subjects)]
    record = _Record([], [], [], [])
    for _ in range(horizon):
        for subject in range(subjects):
            pulls = _asked_round(policy, None if subjects == 1 else subject)
            for pull in pulls:
                tau = states[subject][pull.arm]
                reward = bandit.sample(pull.arm, tau, rng)
                policy.tell(pull.id, reward)
                record.arms.append(pull.arm)
                record.taus.append(tau)
                record.rewards.append(reward)
            record.sizes.append(len(pulls))
            played = {pull.arm for pull in pulls}
            states[subject] = [moved(tau, i in played) for i, tau in enumerate(states[subject])]
    return record.run(bandit, subjects)


def _asked_round(policy: Any, subject: int | None) -> Sequence[Any]:
    """Return the pulls of the next round, of a policy that knows rounds or of one that does not."""
    subjects = () if subject is None else (subject,)
    if hasattr(policy, "ask_round"):
        pulls: Sequence[Any] = policy.ask_round(*subjects)
        return pulls
    return (policy.ask(*subjects),)


class _Record(NamedTuple):
    """What was played so far, in plain lists: the fastest thing to append to."""

    arms: list[int]
    taus: list[int]
    rewards: list[float]
    sizes: list[int]

    def run(self, bandit: Bandit, subjects: int) -> Run:
        """Pack the record into arrays of the smallest integers that hold it."""
        arms, taus = np.array(self.arms, dtype=int), np.array(self.taus, dtype=int)
        one_play = bandit.plays == ONE_PLAY
        return Run(
            bandit,
            arms.astype(np.min_scalar_type(bandit.n_arms)),
            taus.astype(np.min_scalar_type(-int(np.abs(taus).max(initial=0)) - 1)),
            np.array(self.rewards, dtype=float),
            subjects,
            None if one_play else np.array(self.sizes, np.min_scalar_type(bandit.plays[1])),
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


def _play_rounds(
    policy: AsksAndTells,
    turns: Iterable[tuple[int | None, Track]],
    pays: Sequence[_Pays],
    bandit: Bandit,
    rng: np.random.Generator,
    record: _Record,
) -> None:
    """Play rounds of several plays or none, each given as its subject and where that one stands."""
    draws, bernoulli = _draws(bandit, rng), bandit.noise == "bernoulli"
    least, most = bandit.plays
    for subject, track in turns:
        pulls = _asked_round(policy, subject)
        arms = [pull.arm for pull in pulls]
        if (
            not least <= len(arms) <= most
            or len(set(arms)) < len(arms)
            or not all(0 <= arm < len(pays) for arm in arms)
        ):
            raise ExperimentError(
                f"the policy chose arms {arms} in round {track.clock}; a round plays {least} to "
                f"{most} different arms, of 0 to {len(pays) - 1}."
            )
        for pull, tau in zip(pulls, track.play_round(arms), strict=True):
            mean, draw = pays[pull.arm][tau], next(draws)
            reward = (1.0 if draw < mean else 0.0) if bernoulli else mean + draw
            policy.tell(pull.id, reward)
            record.arms.append(pull.arm)
            record.taus.append(tau)
            record.rewards.append(reward)
        record.sizes.append(len(arms))


def _draws(bandit: Bandit, rng: np.random.Generator) -> Iterator[float]:
    """Yield what :func:`_noise` draws, without end."""
    while True:
        yield from _noise(bandit, _BATCH, rng)


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
    (least, most), (fewest, highest) = bandit.plays, getattr(policy, "plays", ONE_PLAY)
    if not least <= fewest <= highest <= most:
        raise ExperimentError(
            f"the policy plays {fewest} to {highest} arms a round, and this bandit {least} to "
            f"{most}; build a policy for it, such as RotationUCB.for_bandit(bandit)."
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
