"""The best cycle under rules where some lengths are refused, or not decided in time."""

from __future__ import annotations

import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import InfeasibleError, RuleError, UndecidedError
from lastswitch.planning import ruled_solve as solve
from lastswitch.planning.clock import Clock
from lastswitch.planning.diagrams import tables
from lastswitch.planning.optima.frequency import places_bound
from lastswitch.planning.plan import Solution

RULES = [r.at_most(0, 2, within=6)]


def rare() -> ls.Bandit:
    """Return two arms that pay after a rest of exactly 3 and of exactly 4 rounds."""
    rests = [[0, 0, 1, 0], [0, 0, 0, 1, 0], [0]]
    return ls.Bandit([ls.Curve(rest, [0.0], monotone=False) for rest in rests])


def test_a_refused_length_is_bounded_by_what_arms_could_pay(monkeypatch):
    """An arm pays every 19 rounds only; where so long cycles are refused, nothing is proven."""
    bandit = ls.Bandit([ls.Curve([0.0] * 17 + [1.0], [0.0]), ls.Curve([0.0], [0.0])])
    best = ls.best_cycle(bandit, 20, rules=RULES)
    assert len(best.rounds) == 19
    assert best.optimal
    monkeypatch.setattr(tables, "MOST_STATES", 1900)
    with pytest.raises(RuleError, match="too much to remember"):
        ls.plan_cycle(bandit, 19, rules=RULES)
    found = ls.best_cycle(bandit, 20, rules=RULES)
    assert found.per_round < best.per_round
    assert found.bound / len(found.rounds) >= best.per_round
    assert not found.optimal


def test_an_undecided_length_does_not_end_the_search(monkeypatch):
    """Lengths above 6 are not decided in their time: the best of the others is the answer."""
    real, asked = solve.solved, []

    def slow(problem, **options):
        asked.append(problem.length)
        return Solution((), float("inf")) if problem.length > 6 else real(problem, **options)

    monkeypatch.setattr(solve, "solved", slow)
    found = ls.best_cycle(rare(), 10, rules=RULES, time_limit=60)
    assert asked == list(range(10, 0, -1))
    assert len(found.rounds) <= 6
    assert found.bound / len(found.rounds) == pytest.approx(ls.average_bound(rare()))
    monkeypatch.setattr(solve, "solved", lambda problem, **_: Solution((), float("inf")))
    with pytest.raises(UndecidedError):
        ls.best_cycle(rare(), 3, rules=RULES)


def test_only_if_no_length_has_a_schedule_is_that_said(monkeypatch):
    """Rules that clash are named; where a length was refused, that is the error."""
    clash = [r.never("everyone"), *RULES]
    with pytest.raises(InfeasibleError) as error:
        ls.best_cycle(rare(), 6, rules=clash)
    assert error.value.conflict == (clash[0],)
    real = solve.solved

    def refusing(problem, **options):
        if problem.length == 3:
            raise RuleError("too much")
        return real(problem, **options)

    monkeypatch.setattr(solve, "solved", refusing)
    with pytest.raises(RuleError, match="too much"):
        ls.best_cycle(rare(), 6, rules=clash)


def test_the_ceiling_leaves_out_arms_that_may_not_play():
    """It is what the arms allowed could pay at most; out of time, a bound all the same."""
    curves = rare().curves
    whole, some = (places_bound(each, (1, 1), 0.0, Clock(None)) for each in (curves, curves[1:]))
    assert (whole, some) == (pytest.approx(0.25 + 0.2), pytest.approx(0.2))
    for plays in [(1, 1), (0, 2)]:
        late = places_bound(curves, plays, 0.125, Clock(0.0))
        assert late >= places_bound(curves, plays, 0.125, Clock(None))


def test_an_average_that_takes_longer_cycles_is_undecided():
    """Sixteen arms that rest for 16 rounds need a cycle of 16; only up to 14 is looked at."""
    bandit = ls.Bandit([ls.Curve([0.5], [0.5])] * 16, rules=[r.rest("everyone", 16)])
    with pytest.raises(UndecidedError, match="at most 14 rounds"):
        ls.optimal_average(bandit, max_states=1)
