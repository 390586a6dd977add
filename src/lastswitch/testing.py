"""Checks for those who write their own policies."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lastswitch.errors import LastSwitchError, PolicyError, TellError
from lastswitch.learning.policy import ONE_PLAY, Policy, Pull
from lastswitch.learning.policy.saving import load_policy
from lastswitch.model.states import moved
from lastswitch.rules.checking import violations

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
    a policy resumed from a file or a snapshot goes on exactly as the one it was taken from. Rounds
    of several plays, or of none, have as many different arms as ``policy.plays`` says, and are
    proposed, confirmed and cancelled as one. The hard rules of a policy that has ``rules`` are
    never broken, and an ``allowed`` that leaves no way to keep them is refused and changes nothing.

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
    if policy.plays == ONE_PLAY and not getattr(policy, "rules", ()):
        _check_arms(factory(), n_arms, rounds)
    script = _Script(policy, rounds, seed)
    first, second = script.play(factory()), script.play(factory())
    _check(first == second, "two fresh policies with the same history asked for different pulls")
    for pause in sorted({0, 1, rounds // 3, rounds - 1}):
        resumed = script.play(factory(), pause)
        _check(resumed == first, f"saving and loading after {pause} pulls changed what followed")
    proposed = script.play(factory(), proposing=True)
    _check(proposed == first, "pulls proposed and then confirmed are not the pulls asked for")


class _Script:
    """One reproducible history: who is asked, after which rest, with which mask, and the news."""

    def __init__(self, policy: Policy, rounds: int, seed: int) -> None:
        rng = random.Random(seed)
        arms, n_arms, fewest = range(policy.n_arms), policy.n_arms, max(policy.plays[0], 1)
        self.n_arms, self.plays = policy.n_arms, policy.plays
        # A mask, or a rest, may leave no way to keep a rule.
        free = not getattr(policy, "rules", ())
        self.turns: list[tuple[Any, int, list[int] | None]] = []
        self.news: list[list[tuple[int, float | None]]] = [[] for _ in range(rounds)]
        for now in range(rounds):
            masked = rng.random() < 0.2
            mask = rng.sample(arms, rng.randint(fewest, n_arms)) if masked and free else None
            rest = rng.choice((1, 2, 40)) if rng.random() < 0.1 and free else 0
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
        pulls: list[tuple[Pull, ...]] = []
        for now, (subject, rest, mask) in enumerate(self.turns):
            if now == pause:
                policy = _saved_and_loaded(policy)
            states[subject] = _rested(states[subject], rest)
            policy.advance(subject, rest)
            if proposing:
                asked = _proposed(policy, subject, mask)
            else:
                asked = _asked(policy, subject, mask, now)
            where = f"pull {now} (subject {subject!r}, allowed {mask}): {asked}"
            self._check_round(asked, subject, mask, states[subject], where)
            earlier = {pull.id for other in pulls for pull in other}
            _check(not any(pull.id in earlier for pull in asked), f"an id used twice: {where}")
            played = {pull.arm for pull in asked}
            states[subject] = [moved(tau, arm in played) for arm, tau in enumerate(states[subject])]
            pulls.append(asked)
            for number, reward in self.news[now]:
                for pull in pulls[number]:
                    policy.tell(pull.id, _within(policy.rewards, reward))
        whose = [turn[0] for turn in self.turns]
        _check_rules(policy, list(zip(whose, pulls, strict=True)))
        return [tuple(pull[1:] for pull in asked) for asked in pulls]

    def _check_round(
        self,
        asked: tuple[Pull, ...],
        subject: Any,
        mask: list[int] | None,
        states: list[int],
        where: str,
    ) -> None:
        """Check the pulls of one round against what is known of it."""
        arms, (least, most) = [pull.arm for pull in asked], self.plays
        _check(all(arm in (range(self.n_arms) if mask is None else mask) for arm in arms), where)
        _check(least <= len(arms) <= most and len({*arms}) == len(arms), f"so many arms: {where}")
        _check(all(pull.subject == subject for pull in asked), f"another subject's {where}")
        _check(all(pull.tau == states[pull.arm] for pull in asked), f"states {states} but {where}")


def _asked(policy: Policy, subject: Any, mask: list[int] | None, now: int) -> tuple[Pull, ...]:
    """Return the pulls of the next round; those of one-play policies are asked for in two ways."""
    if policy.plays == ONE_PLAY and now % 2:
        return (policy.ask(subject=subject, allowed=mask),)
    return policy.ask_round(subject=subject, allowed=mask)


def _check_rules(policy: Policy, rounds: list[tuple[Any, tuple[Pull, ...]]]) -> None:
    """Check that no subject's rounds break a hard rule of a policy that has rules."""
    for rule in getattr(policy, "rules", ()):
        bound = rule.bound(policy.names, policy.groups)  # type: ignore[attr-defined]
        for who in _SUBJECTS if rule.hard else ():
            played = [[pull.arm for pull in asked] for subject, asked in rounds if subject == who]
            found = violations(bound, played) if played else []
            _check(not found, f"the rule {rule} is broken for {who!r}: {found[:3]}")


def _within(rewards: tuple[float, float], share: float | None) -> float | None:
    """Return the reward that is ``share`` of the way from the smallest to the largest."""
    return None if share is None else rewards[0] + share * (rewards[1] - rewards[0])


def _rested(states: list[int], rounds: int) -> list[int]:
    """Return ``states`` after ``rounds`` in which nothing is played."""
    for _ in range(rounds):
        states = [moved(tau, False) for tau in states]
    return states


def _proposed(policy: Policy, subject: Any, mask: list[int] | None) -> tuple[Pull, ...]:
    """Return a round proposed and confirmed, after one proposed and cancelled."""
    before = _saved(policy)
    dropped = policy.ask_round(subject, allowed=mask, confirm=False)
    for pull in dropped[:1]:
        policy.cancel(pull.id)
        _check(_saved(policy) == before, "a proposal that was cancelled changed the policy")
    pulls = policy.ask_round(subject, allowed=mask, confirm=False)
    again = policy.ask_round(subject, allowed=mask, confirm=False)
    same = [pull[1:] for pull in pulls] == [pull[1:] for pull in dropped]
    _check(same, "asking again after a cancelled proposal gave another pull")
    _check(pulls == again, "a standing proposal is not the answer to a second ask")
    _check(not {p.id for p in pulls} & {p.id for p in dropped}, "a cancelled id was used again")
    if not pulls:  # a silence has no id: asking for it plays it
        _check(policy.ask_round(subject, allowed=mask) == (), "a proposed silence was not kept")
    for pull in pulls:
        policy.confirm(pull.id)
    return pulls


def _check_resuming(factory: Callable[[], Policy], rounds: int) -> None:
    """Check that a fresh policy goes on from a snapshot, which the old one leaves alone."""
    policy, again = factory(), factory()
    for _ in range(rounds // 2):
        for pull in policy.ask_round():
            policy.tell(pull.id, policy.rewards[1])
    snapshot = policy.snapshot()
    after = [_without_ids(policy.ask_round()) for _ in range(rounds // 2)]
    again.resume(snapshot)
    resumed = [_without_ids(again.ask_round()) for _ in range(rounds // 2)]
    _check(resumed == after, "a policy resumed from a snapshot asked for other pulls")


def _without_ids(pulls: tuple[Pull, ...]) -> list[Any]:
    return [pull[1:] for pull in pulls]


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
    pulls = [pull for _ in range(rounds) for pull in policy.ask_round()]
    _check(all(0 <= pull.arm < n_arms for pull in pulls), "an illegal arm while nothing was told")
    for pull in reversed(pulls):
        policy.tell(pull.id, policy.rewards[0])
    policy.ask_round()


def _check_refusals(policy: Policy, n_arms: int) -> None:
    """Check that contradictions and nonsense are refused by name and change nothing."""
    found: list[Pull] = []
    while len(found) < 3:  # past the silent rounds, if there are such
        found += policy.ask_round()
    told, missing, waiting = found[:3]
    proposals: tuple[Pull, ...] = ()
    while not proposals:
        proposals = policy.ask_round("ann", confirm=False)
        if not proposals:  # a silence, which is played by asking for it
            policy.ask_round("ann")
    proposal = proposals[0]
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
    other: list[tuple[str, Callable[[], object]]] = [
        ("cancelling what is played", lambda: policy.cancel(waiting.id)),
        ("confirming what was never proposed", lambda: policy.confirm("no-1")),
        ("cancelling what was never proposed", lambda: policy.cancel("no-1")),
        ("a rest of -1 rounds", lambda: policy.advance(None, -1)),
        ("a round that is over", lambda: policy.ask_round(at=0)),
    ]
    if policy.plays != ONE_PLAY:
        other.append(("asking a policy of rounds for one pull", policy.ask))
        other.append(("the same of a subject not seen", lambda: policy.ask("nobody")))
    for what, call in other:
        _check(_refused(call, LastSwitchError), f"{what} must raise a LastSwitchError")
    _check_masks(policy, n_arms)
    _check(_saved(policy) == before, "a refused or repeated call changed the policy")


def _check_masks(policy: Policy, n_arms: int) -> None:
    """Check that masks without a way to play are refused."""
    fewest = policy.plays[0]
    masks: list[Any] = [[n_arms], [-1]]
    if fewest:
        masks += [[], [False] * n_arms]
    if fewest > 1:
        masks.append([0])
    for mask in masks:
        refused = _refused(lambda mask=mask: policy.ask_round(allowed=mask), LastSwitchError)  # type: ignore[misc]
        _check(refused, f"allowed={mask} must raise a LastSwitchError")


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
