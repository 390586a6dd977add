"""The evaluator: what keeping a rule means, case by case."""

from __future__ import annotations

import pytest

from lastswitch import rules as r
from lastswitch.errors import RuleError


def broken(rule, block, history=(), **options):
    """Return {round: amount}; blocks are strings, '.' is silence, digits are arms."""
    spell = lambda text: [() if c == "." else (int(c),) for c in text]  # noqa: E731
    return dict(r.violations(rule, spell(block), spell(history), **options))


@pytest.mark.parametrize(
    ("rule", "block", "where"),
    [
        (r.at_most(0, 1, within=3), "0.0..0", {2: 1}),
        (r.at_most(0, 1, within=3), "000", {1: 1, 2: 1}),
        (r.at_most([0, 1], 1, within=2), "01.10", {1: 1, 4: 1}),
        (r.at_most([0, 1], 1, within=2, each=True), "01.11", {4: 1}),
        (r.at_most(0, 0), "0.0", {0: 1, 2: 1}),
        (r.at_most(0, 1, every=3), "00.0.00", {1: 1, 5: 1}),
        (r.at_most(0, 1, every=3, offset=1), "00.0.00", {3: 1, 6: 1}),
        (r.at_most(0, 0.5), "0001", {2: 1}),
        (r.at_most(0, 1, spans=[(1, 3), (2, 4)]), ".000", {2: 1, 3: 1}),
        (r.at_least(0, 1, within=2), "0110", {2: 1}),
        (r.at_least(0, 2, every=3), "011.0011", {2: 1}),
        (r.at_least(0, 2), "0111", {3: 1}),
        (r.at_least(0, 1, every=5), "0111", {}),
        (r.pinned(0, [1, 2]), "1011", {2: 1}),
        (r.pinned(0, 9), "1011", {}),
        (r.only(0, [1, 2]), "0000", {0: 1, 3: 1}),
        (r.never([0, 1], [1]), "000", {1: 1}),
        (r.never_after(0, 1), "10.10", {1: 1, 4: 1}),
        (r.never_after(0, 0), "00.0", {1: 1}),
    ],
)
def test_where_a_block_breaks_a_rule(rule, block, where):
    """Plays too many, windows too short, followers."""
    assert broken(rule, block) == where


@pytest.mark.parametrize(
    ("rule", "history", "block", "where"),
    [
        (r.at_most(0, 1, within=3), "0", "..0", {}),
        (r.at_most(0, 1, within=3), "0", "0", {0: 1}),
        (r.at_most(0, 1, within=4), "000", "1.0", {2: 1}),  # only what the block adds
        (r.at_most(0, 1, every=3, offset=1), "0.", "01", {0: 1}),  # the period began at round -2
        (r.at_least(0, 1, within=3), "", "11", {}),  # no window is known yet
        (r.at_least(0, 1, within=3), "1", "11", {1: 1}),
        (r.at_least(0, 2, within=3), "11", "0", {}),  # one of two is all that can be had
        (r.at_least(0, 2, within=3), "11", "1", {0: 1}),
        (r.at_least(0, 1, every=3, offset=1), "1", "111", {}),  # began before the known past
        (r.at_least(0, 1, every=3, offset=1), "11", "111", {0: 1}),
        (r.never_after(0, 1), "1", "0", {0: 1}),
        (r.never_after(0, 1), "1", ".0", {}),
        (r.at_most(0, 1), "00", "0", {}),  # a whole block is the block
    ],
)
def test_the_past_is_seen_and_not_mended(rule, history, block, where):
    """Windows reach back into the history; what it broke already is not charged."""
    assert broken(rule, block, history) == where


@pytest.mark.parametrize(
    ("rule", "turn", "where"),
    [
        (r.apart(0, 3), "0.1", {}),
        (r.apart(0, 4), "0.1", {0: 1}),
        (r.apart(0, 9), "0.1", {0: 1}),
        (r.at_most(0, 3, within=9), "0.1", {}),
        (r.at_least(0, 1, within=3), "01101", {}),
        (r.at_least(0, 1, within=2), "01101", {2: 1}),
        (r.at_least(0, 1, within=2), "1011", {0: 1, 3: 1}),
        (r.never_after(0, 1), "0.1", {0: 1}),
        (r.at_least(0, 1, every=2, offset=1), "1.00", {}),
        (r.at_least(0, 1, every=2, offset=1), "1010", {}),
        (r.at_least(1, 1, every=2, offset=1), "1001", {2: 1}),
        (r.at_least(1, 1, every=2, offset=1), "0110", {0: 1}),
        (r.at_most(0, 1, spans=[(2, 6)]), "0000", {3: 1}),
    ],
)
def test_a_cycle_has_itself_as_its_past(rule, turn, where):
    """Sliding windows and periods go across the seam; spans stay in the turn."""
    assert broken(rule, turn, repeats=True) == where


def test_several_plays_a_round_count_each():
    """Two plays of a group in one round are two; a following round counts every follower."""
    rounds = [(0, 1), (), (0, 1, 2)]
    assert r.violations(r.apart([0, 1], 1), rounds) == [(0, 1), (2, 1)]
    assert r.violations(r.at_most([0, 1], 2, within=3), rounds) == [(2, 2)]
    assert r.violations(r.never_after([0, 2], [1]), [(1,), (0, 2), (0,)]) == [(1, 2)]


def test_periods_must_divide_a_cycle():
    """Otherwise no turn would be like the next."""
    with pytest.raises(RuleError, match="multiple of 3"):
        broken(r.at_most(0, 1, every=3), "0..0", repeats=True)
    assert broken(r.at_most(0, 1, every=2), "0..0", repeats=True) == {}


def test_costs_add_up_and_hard_rules_forbid():
    """Soft rules cost per violation; one broken hard rule is infinitely bad."""
    rounds = [(0,), (0,), (0,)]
    soft = [r.apart(0, 2, cost=0.5), r.at_least(1, 2, cost=0.25)]
    assert r.cost_of(soft, rounds) == 1.5
    assert r.cost_of([*soft, r.apart(1, 2)], rounds) == 1.5
    assert r.cost_of([*soft, r.apart(0, 2)], rounds) == float("inf")
