"""Propositions 1 and 3: the pinwheel reductions decide YES and NO instances."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import lastswitch as ls
from lastswitch.model.instances import pinwheel, pinwheel_sqrt
from lastswitch.paper.theory import pinwheel_density
from pinwheel_search import can_cover, can_pack

DENSE = [
    [2, 2],
    [2, 4, 4],
    [2, 3, 6],
    [3, 3, 3],
    [2, 4, 8, 8],
    [2, 4, 6, 12],
    [2, 6, 6, 6],
    [3, 3, 4, 12],
    [3, 3, 6, 6],
    [3, 4, 4, 6],
    [4, 4, 4, 4],
]


def test_both_answers_occur_among_the_dense_instances():
    """The instances below are dense, some of them YES and some NO."""
    assert all(pinwheel_density(periods) == 1 for periods in DENSE)
    answers = [can_pack(periods) for periods in DENSE]
    assert any(answers)
    assert not all(answers)


@pytest.mark.parametrize("periods", DENSE, ids=str)
def test_proposition_1_average_decides(periods):
    """A dense instance is YES exactly when the best average of its reduction is 1."""
    best = ls.optimal_average(pinwheel(periods))
    assert best.optimal
    assert (best.fraction == 1) == can_pack(periods)


@pytest.mark.parametrize("periods", DENSE[:8], ids=str)
def test_proposition_1_block_decides(periods):
    """At the length of the proof, d₀ = (K + 1) ∏ dᵢ, one optimal block decides: ≥ d − K or not."""
    arms, product = len(periods), math.prod(periods)
    length = (arms + 1) * product
    best = ls.optimal_total(pinwheel(periods), length, start=[1] * (arms + 1))
    assert best.optimal
    assert (best.value >= length - arms) == can_pack(periods)
    if not can_pack(periods):
        assert best.value <= length - length // product


@pytest.mark.parametrize("periods", DENSE, ids=str)
def test_proposition_3_cycle_decides(periods):
    """With square roots, YES exactly when the best cycle pays the pinwheel schedule's average."""
    bandit = pinwheel_sqrt(periods)
    pinwheel_average = math.sqrt(min(periods) / max(periods))  # 1 before scaling into [0, 1]
    best = ls.optimal_average(bandit)
    assert best.optimal
    assert best.value <= pinwheel_average + 1e-9
    assert (best.value > pinwheel_average - 1e-9) == can_pack(periods)


@pytest.mark.parametrize("periods", DENSE, ids=str)
def test_proposition_3_arms_are_ordered_and_separable(periods):
    """The arms of the reduction are totally ordered, and each is a multiple of one curve."""
    rest, streak = pinwheel_sqrt(periods).tables(max(periods), 1)
    assert (rest[:-1] >= rest[1:]).all()
    assert (streak[:-1] >= streak[1:]).all()
    ratios = rest / rest[0]
    assert ratios == pytest.approx(ratios[:, :1] * [[1.0] * max(periods)])


KNOWN = {
    (2, 3, 4): 1,
    (2, 3): Fraction(3, 4),
    (2, 3, 5): Fraction(7, 8),
    (2, 3, 6): Fraction(7, 8),
    (3, 4, 4, 6): Fraction(8, 9),
}


@pytest.mark.parametrize("periods", KNOWN, ids=str)
def test_off_density_one_the_reduction_is_the_covering_problem(periods):
    """The reward 1{delay ≥ dᵢ} asks *at most* once in dᵢ rounds: average 1 means coverable."""
    best = ls.optimal_average(pinwheel(list(periods)))
    assert best.fraction == KNOWN[periods]
    assert (best.fraction == 1) == can_cover(list(periods))
