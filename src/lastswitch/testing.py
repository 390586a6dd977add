"""Checks for those who write their own policies."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lastswitch.errors import LastSwitchError, PolicyError, TellError
from lastswitch.learning.policy import Policy, Pull
from lastswitch.learning.saving import load_policy
from lastswitch.states import moved, transition

#: Who is asked for: the subject nobody names, named ones and numbered ones.
_SUBJECTS = (None, "ann", "bob", 3)


def check_policy(
    factory: Callable[[], Policy], *, n_arms: int, rounds: int = 120, seed: int = 0
) -> None:
    """Check that the policies built by ``factory`` keep the contract of :class:`Policy`.

    Pulls are legal and carry the true state of their arm, also after rounds of rest; subjects do
    not disturb each other; masks are obeyed; rewards may be late, out of order, missing or
    repeated; contradictions, rewards outside the range and other nonsense are refused and change
    nothing; a proposal that is cancelled leaves no trace, one that is confirmed is as good as a
    pull asked for; an arm that is retired is never played again and its old pulls can still be
    told, and an arm that is added is played in its true state; equal histories give equal pulls;
    a policy resumed from a file or a snapshot goes on exactly as the one it was taken from.

    Parameters
    ----------
    factory
        Builds a fresh policy, the same every time.
    n_arms
        How many arms it has.
    rounds
        How many pulls each check asks for.
    seed
        Names the random rewards, delays and masks.

    Raises
    ------
    AssertionError
        With the promise that was broken, and where.

    Examples
    --------
    >>> from lastswitch.learning import FixedCycle
    >>> check_policy(lambda: FixedCycle([0, 1, 2]), n_arms=3)
    """
    policy = factory()
    _check(policy.n_arms == n_arms, f"the policy has {policy.n_arms} arms, not {n_arms}")
    _check_without_rewards(factory(), n_arms, rounds)
    _check_refusals(factory(), n_arms)
    _check_resuming(factory, rounds)
    _check_arms(factory(), n_arms, rounds)
    script = _Script(n_arms, rounds, seed)
    first, second = script.play(factory()), script.play(factory())
    _check(first == second, "two fresh policies with the same history asked for different pulls")
    for pause in sorted({0, 1, rounds // 3, rounds - 1}):
        resumed = script.play(factory(), pause)
        _check(resumed == first, f"saving and loading after {pause} pulls changed what followed")
    proposed = script.play(factory(), proposing=True)
    _check(proposed == first, "pulls proposed and then confirmed are not the pulls asked for")


class _Script:
    """One reproducible history: who is asked, after which rest, with which mask, and the news."""

    def __init__(self, n_arms: int, rounds: int, seed: int) -> None:
        rng = random.Random(seed)
        arms = range(n_arms)
        self.n_arms = n_arms
        self.turns: list[tuple[Any, int, list[int] | None]] = []
        self.news: list[list[tuple[int, float | None]]] = [[] for _ in range(rounds)]
        for now in range(rounds):
            masked = rng.random() < 0.2
            mask = rng.sample(arms, rng.randint(1, n_arms)) if masked else None
            rest = rng.choice((1, 2, 40)) if rng.random() < 0.1 else 0
            self.turns.append((rng.choice(_SUBJECTS), rest, mask))
            fate = rng.random()
            if fate < 0.1:
                continue  # never told
            reward = None if fate < 0.2 else math.nan if fate < 0.25 else float(rng.random() < 0.5)
            for _ in range(2 if rng.random() < 0.2 else 1):  # some are told twice
                when = now + (0 if rng.random() < 0.5 else rng.randint(1, 15))
                if when < rounds:
                    self.news[when].append((now, reward))

    def play(
        self, policy: Policy, pause: int | None = None, *, proposing: bool = False
    ) -> list[tuple[Any, ...]]:
        """Play the history; return the pulls without their ids, which no two policies share.

        Saves and loads before round ``pause``; with ``proposing``, cancels a proposal and confirms
        another in place of every ask.
        """
        start = [int(tau) for tau in policy.track("a start").state()]
        states = dict.fromkeys(_SUBJECTS, start)
        pulls: list[Pull] = []
        for now, (subject, rest, mask) in enumerate(self.turns):
            if now == pause:
                policy = _saved_and_loaded(policy)
            states[subject] = _rested(states[subject], rest)
            policy.advance(subject, rest)
            if proposing:
                pull = _proposed(policy, subject, mask)
            else:
                pull = policy.ask(subject=subject, allowed=mask)
            where = f"pull {now} (subject {subject!r}, allowed {mask}): {pull}"
            _check(pull.arm in (range(self.n_arms) if mask is None else mask), f"illegal {where}")
            _check(pull.subject == subject, f"another subject's {where}")
            _check(pull.tau == states[subject][pull.arm], f"states {states[subject]} but {where}")
            _check(all(pull.id != other.id for other in pulls), f"an id used twice: {where}")
            states[subject] = transition(states[subject], pull.arm).tolist()
            pulls.append(pull)
            for number, reward in self.news[now]:
                policy.tell(pulls[number].id, _within(policy.rewards, reward))
        return [pull[1:] for pull in pulls]


def _within(rewards: tuple[float, float], share: float | None) -> float | None:
    """Return the reward that is ``share`` of the way from the smallest to the largest."""
    return None if share is None else rewards[0] + share * (rewards[1] - rewards[0])


def _rested(states: list[int], rounds: int) -> list[int]:
    """Return ``states`` after ``rounds`` in which nothing is played."""
    for _ in range(rounds):
        states = [moved(tau, False) for tau in states]
    return states


def _proposed(policy: Policy, subject: Any, mask: list[int] | None) -> Pull:
    """Return a pull proposed and confirmed, after one proposed and cancelled."""
    before = _saved(policy)
    dropped = policy.ask(subject, allowed=mask, confirm=False)
    policy.cancel(dropped.id)
    _check(_saved(policy) == before, "a proposal that was cancelled changed the policy")
    pull = policy.ask(subject, allowed=mask, confirm=False)
    again = policy.ask(subject, allowed=mask, confirm=False)
    _check(pull[1:] == dropped[1:], "asking again after a cancelled proposal gave another pull")
    _check(pull == again, "a standing proposal is not the answer to a second ask")
    _check(pull.id != dropped.id, "the id of a cancelled pull was used again")
    policy.confirm(pull.id)
    policy.confirm(pull.id)
    return pull


def _check_resuming(factory: Callable[[], Policy], rounds: int) -> None:
    """Check that a fresh policy goes on from a snapshot, which the old one leaves alone."""
    policy, again = factory(), factory()
    for _ in range(rounds // 2):
        policy.tell(policy.ask().id, policy.rewards[1])
    snapshot = policy.snapshot()
    after = [policy.ask()[1:] for _ in range(rounds // 2)]
    again.resume(snapshot)
    resumed = [again.ask()[1:] for _ in range(rounds // 2)]
    _check(resumed == after, "a policy resumed from a snapshot asked for other pulls")


def _check_arms(policy: Policy, n_arms: int, rounds: int) -> None:
    """Check that arms come and go: numbers stay, what is retired rests, what is new is known."""
    high, early = policy.rewards[1], [policy.ask() for _ in range(rounds // 4)]
    try:
        added = policy.add_arm("added")
    except PolicyError:
        _check(policy.n_arms == n_arms, "an arm that was refused is counted")
    else:
        _check(added == n_arms == policy.n_arms - 1, f"arm {n_arms} was added as {added}")
        pull = policy.ask(allowed=[added])
        _check(pull[1:3] == (added, max(policy.track("new").tau(added), 1)), f"added, but {pull}")
        policy.tell(pull.id, high)
    gone = early[0].arm
    if policy.n_arms == 1:
        _check(_refused(lambda: policy.retire(gone), PolicyError), "the last arm was retired")
        return
    policy.retire(gone)
    policy.retire(gone)
    policy.tell(early[0].id, high)
    _check(_refused(lambda: policy.ask(allowed=[gone]), PolicyError), "a retired arm was allowed")
    twin = _saved_and_loaded(policy)
    for _ in range(rounds // 4):
        pull, other = policy.ask(), twin.ask()
        _check(pull[1:] == other[1:], "a loaded policy went on otherwise after arms came and went")
        _check(pull.arm != gone, f"the retired arm was played: {pull}")
        policy.tell(pull.id, high)
        twin.tell(other.id, high)
    for pull in early[1:]:
        policy.tell(pull.id, high)


def _check_without_rewards(policy: Policy, n_arms: int, rounds: int) -> None:
    """Check that a policy that hears nothing still answers, and hears it all in the end."""
    pulls = [policy.ask() for _ in range(rounds)]
    _check(all(0 <= pull.arm < n_arms for pull in pulls), "an illegal arm while nothing was told")
    for pull in reversed(pulls):
        policy.tell(pull.id, policy.rewards[0])
    policy.ask()


def _check_refusals(policy: Policy, n_arms: int) -> None:
    """Check that contradictions and nonsense are refused by name and change nothing."""
    told, missing, waiting = policy.ask(), policy.ask(), policy.ask()
    proposal = policy.ask("ann", confirm=False)
    policy.tell(told.id, policy.rewards[1])
    policy.tell(missing.id, None)
    before = _saved(policy)
    policy.tell(told.id, policy.rewards[1])
    policy.tell(missing.id, math.nan)
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("a second, different reward", lambda: policy.tell(told.id, 0.0)),
        ("a reward after it was told as missing", lambda: policy.tell(missing.id, 1.0)),
        ("a missing reward after it was told", lambda: policy.tell(told.id, None)),
        ("an infinite reward", lambda: policy.tell(waiting.id, math.inf)),
        ("the reward of a pull never asked", lambda: policy.tell(waiting.id + "0000", 1.0)),
        ("the reward of a pull only proposed", lambda: policy.tell(proposal.id, 1.0)),
    ]
    if policy.learns:
        low, high = policy.rewards
        below, above = low - (high - low), high + (high - low)
        wrong.append(("a reward below the range", lambda: policy.tell(waiting.id, below)))
        wrong.append(("a reward above the range", lambda: policy.tell(waiting.id, above)))
    for what, call in wrong:
        _check(_refused(call, TellError), f"{what} must raise TellError")
    for what, call in (
        ("cancelling what is played", lambda: policy.cancel(waiting.id)),
        ("confirming what was never proposed", lambda: policy.confirm("no-1")),
        ("cancelling what was never proposed", lambda: policy.cancel("no-1")),
        ("a rest of -1 rounds", lambda: policy.advance(None, -1)),
        ("a round that is over", lambda: policy.ask(at=0)),
    ):
        _check(_refused(call, LastSwitchError), f"{what} must raise a LastSwitchError")
    for mask in ([], [False] * n_arms, [n_arms], [-1]):
        refused = _refused(lambda mask=mask: policy.ask(allowed=mask), LastSwitchError)  # type: ignore[misc]
        _check(refused, f"allowed={mask} must raise a LastSwitchError")
    _check(_saved(policy) == before, "a refused or repeated call changed the policy")


def _refused(call: Callable[[], object], error: type[Exception]) -> bool:
    """Tell whether ``call`` raises ``error``."""
    try:
        call()
    except error:
        return True
    return False


def _saved(policy: Policy) -> str:
    """Return the file ``policy`` would save."""
    with tempfile.TemporaryDirectory() as folder:
        return Path(policy.save(Path(folder) / "policy.json")).read_text()


def _saved_and_loaded(policy: Policy) -> Policy:
    """Return what a file makes of ``policy``, after checking that the file is complete."""
    with tempfile.TemporaryDirectory() as folder:
        again = load_policy(policy.save(Path(folder) / "policy.json"))
    _check(type(again) is type(policy), f"a saved {type(policy)} was loaded as {type(again)}")
    _check(_saved(again) == _saved(policy), "a loaded policy would save another file")
    return again


def _check(holds: bool, promise: str) -> None:
    """Complain if ``holds`` does not; unlike ``assert``, also under ``python -O``."""
    if not holds:
        raise AssertionError(promise)
