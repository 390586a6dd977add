"""RotationUCB where rounds have rules, several plays, or none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastswitch.bandit import checked_names, checked_plays, checked_rules, checked_silence
from lastswitch.errors import PolicyError
from lastswitch.learning.chooser import ONE_PLAY
from lastswitch.learning.policy import Mask
from lastswitch.learning.rotation import IndexName, RotationUCB
from lastswitch.learning.rotation_rounds import look_ahead_rounds, price_places
from lastswitch.learning.tracks import Track
from lastswitch.planning.playing import as_rounds, states_after
from lastswitch.rules.automata.endless import Endless, Memory
from lastswitch.rules.records import Counting, Rule

#: Plans remembered between two makings of the tables.
_REMEMBERED = 50_000
#: How many times wider the beam becomes, and how wide at most, where all its plans end early.
_WIDER, _WIDEST = 4, 400


class RuledRotationUCB(RotationUCB):
    """RotationUCB that keeps rules, plays several arms a round, and knows what silence pays.

    It believes and learns as :class:`RotationUCB` does, and plans on its optimistic tables with
    what every rule remembers as a part of the state. **Guaranteed:** no hard rule is ever broken
    by its choices: it makes only plays from which all of them can be kept for ever
    (:mod:`lastswitch.rules.automata.endless`). An ``allowed`` that leaves no such play is refused.
    Rounds that the caller lets go by (``at``, ``advance``) count as rounds without plays; if they
    break a rule, or leave no way to keep one, what is broken from then on is as little as can be.

    Rules speak of rounds by their numbers on the subject's clock, so a window of days is the same
    window for a subject who comes later; of what was before its first round a rule knows
    ``history``.

    Parameters
    ----------
    n_arms
        Number of arms.
    rules
        What is kept, made with :mod:`lastswitch.rules`: hard ones, and soft ones at their price.
        They speak of windows (``within``), periods (``every``) or certain rounds; a whole block
        has no meaning here.
    plays
        How many different arms a round plays: a number, or a range such as (0, 1). Unless it is 1,
        ask with :meth:`ask_round`.
    silence
        What an empty place of a round pays, as a reward. It is known, and never explored.
    names, groups
        What rules call the arms.
    history
        Rounds before the first, the latest last: arms, lists of arms, or None for silence.
    initial
        States before the history.
    index, depth, max_depth, streak_depth, lookahead, width, commitment, alpha, memory
        As in :class:`RotationUCB`; the look-ahead does not grow.
    rewards, prior, seed
        As in :class:`RotationUCB`.

    Examples
    --------
    >>> import lastswitch as ls
    >>> from lastswitch import rules as r
    >>> mails = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3)], plays=(0, 1),
    ...                   silence=0.4, rules=[r.at_most("everyone", 2, within=3)])
    >>> run = ls.simulate(mails, ls.RotationUCB.for_bandit(mails), horizon=1500, seed=0)
    >>> bool(run.mean_total > 0.97 * 1500 * ls.optimal_average(mails).value)
    True
    """

    def __init__(
        self,
        n_arms: int,
        *,
        rules: Iterable[Rule] = (),
        plays: int | tuple[int, int] = 1,
        silence: float = 0.0,
        names: Iterable[str] | None = None,
        groups: Mapping[str, Iterable[str | int]] | None = None,
        history: Iterable[object] = (),
        index: IndexName = "reservation",
        depth: int = 24,
        max_depth: int = 64,
        streak_depth: int = 4,
        lookahead: int = 24,
        width: int = 24,
        commitment: int = 4,
        alpha: float = 0.4,
        memory: float | None = None,
        initial: int | Sequence[int] = 1,
        rewards: Sequence[float] = (0.0, 1.0),
        prior: Any = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            n_arms,
            index=index,
            depth=depth,
            max_depth=max_depth,
            streak_depth=streak_depth,
            lookahead=lookahead,
            width=width,
            commitment=commitment,
            alpha=alpha,
            memory=memory,
            initial=initial,
            rewards=rewards,
            prior=prior,
            seed=seed,
        )
        self.names, self.groups = checked_names(names, groups, self.n_arms)
        self.rules = checked_rules(rules, self.names, self.groups)
        self.plays = checked_plays(plays, self.n_arms)
        self.silence = checked_silence(silence)
        self.history = as_rounds(history, self.names, "history")
        if self.history:
            self._start = tuple(states_after(self._start, self.history))
            self._subjects.start = self._start
        self._bound_rules = [rule.bound(self.names, self.groups) for rule in self.rules]
        self._lasting: dict[tuple[int, int], _Packed] = {}
        self._round_plans: dict[Any, list[int]] = {}
        self._rules_from(0)  # tells at once if they cannot be kept

    # Asking.

    def choose(self, track: Track, allowed: Mask | None) -> int:
        """Return the arm to play, where every round plays one."""
        if self.plays != ONE_PLAY:
            raise self._plays_rounds()
        arms = self.choose_round(track, allowed)
        self.playing(track, arms)
        return arms[0]

    def choose_round(self, track: Track, allowed: Mask | None) -> tuple[int, ...]:
        """Return the arms of the next round of the plan, planning where none is left."""
        packed = self._rules_from(track.began)
        held, plan = self._recall(track, packed.endless)
        if allowed is not None:
            self._check_allowed(packed, held, allowed)
        if self.memory is not None:
            self._tick(track.now)
        pace = self.commitment if len(self._tracks) == 1 else 1
        if allowed is not None or not plan or not packed.endless.safe(held, plan[0]):
            plan = self._planned(track, packed, held, allowed)[:pace]
        track.memory = [track.clock, list(held), plan]
        return packed.endless.choices[plan[0]]

    def playing(self, track: Track, arms: tuple[int, ...]) -> None:
        """Count the plays as out, and let every rule hear of them."""
        packed = self._rules_from(track.began)
        held, plan = self._recall(track, packed.endless)
        choice = packed.endless.number[arms]
        follows = plan[1:] if plan and plan[0] == choice else []
        after = packed.endless.step(held, choice)[0]
        track.memory = [track.clock + 1, list(after), follows]
        for arm in arms:
            cell = self._cell(arm, track.tau(arm))
            self._out[cell] += 1.0
            if self._seen[cell] + self._out[cell] >= self._limit_all[cell]:
                self._grown(cell)

    def grow(self, prior: Any) -> None:
        """Refuse a new arm, which the rules that are kept do not know."""
        raise PolicyError(
            "rules do not know a new arm; build a new policy with the rules it is to keep."
        )

    def _recall(self, track: Track, endless: Endless) -> tuple[Memory, list[int]]:
        """Return what the rules remember of a subject now, and what is left of its plan."""
        clock, held, plan = track.memory or (0, endless.start, [])
        if clock < track.clock:  # rounds went by that were not asked for
            return endless.idle(tuple(held), track.clock - clock), []
        return tuple(held), plan

    def _rules_from(self, began: int) -> _Packed:
        """Return the rules as a subject that came in round ``began`` meets them."""
        counting = [rule for rule in self._bound_rules if isinstance(rule, Counting)]
        period = math.lcm(*(rule.every or 1 for rule in counting))
        last = max((stop for rule in counting for _, stop in rule.spans or ()), default=0)
        key = (began % period, min(began, last))
        packed = self._lasting.get(key)
        if packed is None:
            scale = self.rewards[1] - self.rewards[0]
            endless = Endless(
                self._bound_rules, self.n_arms, self.plays, began=began, history=self.history
            )
            packed = self._lasting[key] = _packed(endless, self._silence_share(), scale)
        return packed

    # Planning.

    def _planned(
        self, track: Track, packed: _Packed, held: Memory, allowed: Mask | None
    ) -> list[int]:
        """Return the choices to make next, the first of which is safe."""
        if self.stale:
            self._make_tables()
        cells = self._cells(track.state())
        key = (id(packed), cells, held, allowed)
        plan = self._round_plans.get(key)
        if plan is None:
            if len(self._round_plans) >= _REMEMBERED:
                self._round_plans.clear()
            plan = self._round_plans[key] = self._search_rounds(cells, packed, held, allowed)
        return plan

    def _search_rounds(
        self, cells: tuple[int, ...], packed: _Packed, held: Memory, allowed: Mask | None
    ) -> list[int]:
        endless, free = packed.endless, packed.free(allowed)
        plan = self._beam(cells, packed, held, free)
        if plan and endless.safe(held, plan[0]):
            return plan
        if not endless.lasting(held):
            return [self._least_broken(endless, held, free)]
        for choice in np.flatnonzero(free).tolist():
            free[choice] = endless.safe(held, choice)
        return self._beam(cells, packed, held, free) or np.flatnonzero(free)[:1].tolist()

    def _check_allowed(self, packed: _Packed, held: Memory, allowed: Mask) -> None:
        """Refuse a mask that leaves no play from which the rules can be kept, if there is one."""
        endless = packed.endless
        choices = np.flatnonzero(packed.free(allowed)).tolist()
        if endless.lasting(held) and not any(endless.safe(held, choice) for choice in choices):
            raise PolicyError(
                "allowed leaves no play from which all hard rules can be kept; allow more arms, or "
                "drop a rule."
            )

    def _beam(
        self, cells: tuple[int, ...], packed: _Packed, held: Memory, free: NDArray[np.bool_]
    ) -> list[int]:
        """Return the first plays of the best plan found, as many as are committed to.

        Plays from which the rules cannot be kept may promise most, and crowd out all others; then
        every plan ends early, and a wider beam has room for those that go on.
        """
        plan, width = np.empty(self.lookahead, np.int64), self.width
        while True:
            reached = look_ahead_rounds(
                self.values,
                self._worth,
                self.streak_depth,
                self.depths,
                np.array(cells),
                packed.choices,
                free,
                packed.empty,
                np.array(held, np.int64),
                packed.endless.events,
                packed.first,
                packed.n_events,
                packed.after,
                packed.wrong,
                packed.costs,
                self._keys,
                width,
                plan,
            )
            if reached in (0, self.lookahead) or width >= _WIDEST:
                break
            width = min(_WIDER * width, _WIDEST)
        kept: list[int] = plan[: min(reached, self.commitment)].tolist()
        return kept

    def _least_broken(self, endless: Endless, held: Memory, free: NDArray[np.bool_]) -> int:
        """Return the choice that breaks least, where what went by cannot be mended."""
        broken = [endless.step(held, choice)[1] for choice in range(len(endless.choices))]
        ways = np.flatnonzero(free).tolist()
        return min(ways, key=lambda choice: (broken[choice], choice))

    def _price(self) -> None:
        """Price the places of a round, some of which rules keep empty."""
        super()._price()
        least, most = self.plays
        places, silence = min(float(most), self._most_plays()), self._silence_share()
        floor = silence if least < most else -1.0
        if places < 1.0 or most > 1 or floor > -1.0:
            self._slot_price, gains = price_places(
                self.values, self.streak_depth, self.depths, places, floor, self._worth
            )
            self._bound = places * self._slot_price + (most - places) * silence + gains
        self._round_plans.clear()

    def _most_plays(self) -> float:
        """Return how many plays a round may have on average, if a rule caps them all together."""
        caps = [math.inf]
        for rule in self._bound_rules:
            window = (rule.within or rule.every) if isinstance(rule, Counting) else None
            if window and rule.hard and len(rule.who) == self.n_arms and not rule.each:  # type: ignore[union-attr]
                most = rule.windows(3 * window)[-1].most  # type: ignore[union-attr]
                caps.append(math.inf if most is None else most / window)
        return min(caps)

    def _silence_share(self) -> float:
        """Return what an empty place pays on the scale of the tables."""
        low, high = self.rewards
        return (self.silence - low) / (high - low)

    # Keeping.

    def check_kept(self, track: Track, notes: Sequence[Any]) -> None:
        """Refuse what no rounds of these rules leave in the memory of a subject."""
        if track.memory is None:
            return
        endless = self._rules_from(track.began).endless
        clock, held, plan = track.memory
        right = (
            type(clock) is int
            and 0 <= clock <= track.clock
            and len(held) == len(endless.automata)
            and all(type(number) is int for number in (*held, *plan))
            and all(0 <= s < len(a.after) for s, a in zip(held, endless.automata, strict=True))
            and all(0 <= choice < len(endless.choices) for choice in plan)
        )
        if not right:
            raise PolicyError("a track holds what its rules cannot remember.")


class _Packed(NamedTuple):
    """Endless rules as the arrays of the look-ahead."""

    endless: Endless
    choices: NDArray[np.bool_]
    empty: NDArray[np.float64]
    first: NDArray[np.int64]
    n_events: NDArray[np.int64]
    after: NDArray[np.int64]
    wrong: NDArray[np.int64]
    costs: NDArray[np.float64]

    def free(self, allowed: Mask | None) -> NDArray[np.bool_]:
        """Tell which choices play no arm that is not allowed."""
        if allowed is None:
            return np.ones(len(self.choices), np.bool_)
        free: NDArray[np.bool_] = ~(self.choices & ~np.array(allowed)).any(axis=1)
        return free


def _packed(endless: Endless, silence: float, scale: float) -> _Packed:
    """Return the arrays of endless rules; ``scale`` is the range of rewards."""
    tables = endless.automata
    nothing: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    sizes = [table.after.size for table in tables]
    costs = [math.inf if t.counter.cost is None else t.counter.cost / scale for t in tables]
    most = endless.plays[1]
    return _Packed(
        endless,
        np.array([[arm in arms for arm in range(endless.n_arms)] for arms in endless.choices]),
        np.array([silence * (most - len(arms)) for arms in endless.choices]),
        np.cumsum([0, *sizes], dtype=np.int64)[:-1],
        np.array([table.after.shape[1] for table in tables], np.int64),
        np.concatenate([t.after.ravel() for t in tables] or nothing),
        np.concatenate([t.wrong.ravel() for t in tables] or nothing),
        np.array(costs, np.float64),
    )
