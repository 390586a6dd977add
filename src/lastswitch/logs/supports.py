"""What a rotation rests on: for every play, how often and by how many its state was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastswitch._listing import counted
from lastswitch.logs.cycles import ENDLESS, cycle_cells, rounds_of

if TYPE_CHECKING:
    from lastswitch.logs.armfit import ArmFit
    from lastswitch.logs.curvefit import CurveFit
    from lastswitch.planning.plan import Plan


@dataclass(frozen=True)
class Support:
    """The plays of one arm in one state, and the events of how many subjects they rest on.

    ``beyond`` says that the state is deeper than any seen, and taken to pay what the deepest does.
    """

    arm: str
    tau: int
    plays: int
    events: int
    subjects: int
    known: bool
    beyond: bool = False

    @property
    def state(self) -> str:
        """The state in words."""
        if self.tau == ENDLESS:
            return "repeated for ever"
        if self.tau > 0:
            return f"after {counted(self.tau, 'round')} of rest"
        return f"after {-self.tau} in a row" if self.tau < -1 else "repeated once"

    @property
    def rests(self) -> str:
        """What these plays rest on, in words."""
        return _rests(self.events, self.subjects)


def _rests(events: int, subjects: int) -> str:
    return f"{counted(events, 'event')} of {counted(subjects, 'subject')}"


def support(fit: CurveFit, plan: Plan | Sequence[int] | Sequence[str]) -> tuple[Support, ...]:
    """Return what each kind of play of a repeated rotation rests on, the weakest first.

    Examples
    --------
    >>> import lastswitch as ls
    >>> truth = ls.Bandit([([0.9], [0.0]), ([0.3], [0.3])], names=["jazz", "talk"])
    >>> fit = ls.fit_curves(ls.logs.simulate(truth, subjects=50, rounds=50, seed=1))
    >>> [(found.arm, found.tau, found.known) for found in support(fit, ["jazz", "talk"])]
    [('jazz', 1, True), ('talk', 1, True)]
    """
    visits = Counter(cycle_cells(rounds_of(plan, fit.counts.names)))
    found = [_support(fit.arms[arm], tau, plays) for (arm, tau), plays in visits.items()]
    return tuple(sorted(found, key=lambda one: (one.known, one.events, one.arm, one.tau)))


def _support(arm: ArmFit, tau: int, plays: int) -> Support:
    state = arm.at(tau)
    if state is None:
        return Support(arm.name, tau, plays, 0, 0, False)
    depth = len(arm.rest if tau > 0 else arm.streak)
    beyond = abs(tau) > depth
    return Support(arm.name, tau, plays, state.seen, state.subjects, state.known, beyond)


def support_words(found: Sequence[Support], rounds: int, blurred: int = 0) -> list[str]:
    r"""Return what to say of a rotation's evidence, a sentence a line.

    ``blurred`` is the longest rest that events without an order leave untold.

    Examples
    --------
    >>> thin = Support("Musical", 1, 28, 8, 5, known=False)
    >>> print(*support_words([thin], 28), sep="\n")
    28 of 28 plays rest on 8 events of 5 subjects: the log cannot support this rotation
      Musical after 1 round of rest: 28 plays, 8 events of 5 subjects
    """
    weak = [one for one in found if not one.known]
    if not weak:
        least = min(found, key=lambda one: one.events)
        return [f"Every play rests on at least {least.rests} ({least.arm} {least.state})"]
    plays, events = sum(one.plays for one in weak), sum(one.events for one in weak)
    rests = _rests(events, max(one.subjects for one in weak))
    lines = [f"{plays} of {rounds} plays rest on {rests}: the log cannot support this rotation"]
    lines += [
        f"  {one.arm} {one.state}: {counted(one.plays, 'play')}, {one.rests}" for one in weak[:6]
    ]
    if len(weak) > 6:
        lines.append(f"  and {len(weak) - 6} more")
    if blurred:
        lines.append(
            "  Which of the events that share a time came first is not in the log: streaks, and "
            f"rests up to {counted(blurred, 'round')}, are unknown however often seen"
        )
    return lines
