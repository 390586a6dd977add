from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch import Bandit, Curve
from lastswitch.errors import (
    BanditError,
    BlockError,
    CurveError,
    ExperimentError,
    LastSwitchError,
)
from lastswitch.paper import theory
from pinwheel_search import can_cover, can_pack

FLAT = Bandit([Curve([0.1, 0.9, 0.3], [0.2]), Curve([0.5], [0.5])])
TIRED = Bandit([Curve([0.1, 0.9], [0.2, 0.1]), Curve([0.5], [0.5])])
RISING = Bandit([Curve([0.5], [0.1, 0.9], monotone=False), Curve([0.5], [0.5])])
EVERY_FLOOR = [
    theory.best_cycle_floor,
    theory.double_play_floor,
    theory.calibration_sequence_floor,
    theory.calibrated_block_floor,
]


def test_theorem_1_has_the_printed_terms():
    """Each term of Theorem 1, written out with numbers."""
    bound = theory.regret_bound(3, horizon=1000, length=10)
    assert bound.approximation == 3 * 1000 / 10
    assert bound.estimation == pytest.approx(47 * 10 * math.sqrt(3 * 1000 * math.log(100)))
    assert bound.start == pytest.approx((math.pi**2 / 3 + 1) * 3 * 1000)
    assert bound.total == sum(bound)


def test_theorem_2_has_the_printed_terms():
    """Each term of Theorem 2, written out with numbers."""
    bound = theory.regret_bound(3, horizon=1000, length=10, streaks=True)
    assert bound.approximation == 5 * 1000 / 10
    assert bound.estimation == pytest.approx(47 * 10 * math.sqrt(2 * 3 * 1000 * math.log(100)))
    assert bound.start == pytest.approx((math.pi**2 / 3 + 1) * 2 * 3 * 1000)


def by_hand(arms: int, rounds: int, size: int, streaks: bool) -> float:
    """Theorem 1 or 2 without any check."""
    twice = 2 if streaks else 1
    return (
        (arms + 2 * streaks) * rounds / size
        + 47 * size * math.sqrt(twice * arms * rounds * math.log(rounds / size))
        + (math.pi**2 / 3 + 1) * twice * arms * size**3
    )


@given(arms=st.integers(1, 20), rounds=st.integers(2, 4000), streaks=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_best_block_size_is_the_best_of_all(arms, rounds, streaks):
    """No block size from 2 to T gives a smaller bound; among divisors, no divisor does."""
    sizes = range(2, rounds + 1)
    best = theory.best_block_size(arms, rounds, streaks)
    least = min(by_hand(arms, rounds, size, streaks) for size in sizes)
    assert by_hand(arms, rounds, best, streaks) == pytest.approx(least)
    divisor = theory.best_block_size(arms, rounds, streaks, dividing=True)
    least = min(by_hand(arms, rounds, size, streaks) for size in sizes if rounds % size == 0)
    assert rounds % divisor == 0
    assert by_hand(arms, rounds, divisor, streaks) == pytest.approx(least)


def test_the_best_block_size_grows_like_the_fourth_root():
    """From T to 10⁸ T the best size grows about a hundredfold, logarithms aside."""
    small, large = (theory.best_block_size(2, 10**power) for power in (12, 20))
    assert 60 < large / small < 110


def test_the_regret_bound_grows_like_its_order():
    """With the best block, bound / (K T^(3/4)) moves by less than √log T over eight decades."""
    ratios = [
        theory.regret_bound(2, 10**power, theory.best_block_size(2, 10**power, dividing=True)).total
        / theory.regret_order(2, 10**power)
        for power in (12, 16, 20)
    ]
    assert max(ratios) / min(ratios) < math.sqrt(20 / 12)


@given(arms=st.integers(1, 20), blocks=st.integers(3, 500), size=st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_the_lower_order_stays_below_the_upper_bound(arms, blocks, size):
    """The stated lower order never exceeds Theorem 1."""
    rounds = blocks * size
    assert (
        theory.regret_lower_order(arms, rounds, size)
        < theory.regret_bound(arms, rounds, size).total
    )


def test_lemma_2_constants():
    """K in the special case, K + 2 in general, fewer when the block is known."""
    assert theory.state_change_loss(4) == 4
    assert theory.state_change_loss(4, streaks=True) == 6
    assert theory.state_change_loss(4, block=[2, 2, 0]) == 2
    leads = {(0, 1): 2, (0, 0, 1): 3, (0, 0, 0, 1): 4, (0, 0, 0, 0): 3}
    for block, loss in leads.items():
        assert theory.state_change_loss(4, streaks=True, block=block) == loss


@pytest.mark.parametrize("rest", ["constant", "nondecreasing", "arbitrary"])
@pytest.mark.parametrize("streak", ["constant", "nondecreasing", "arbitrary"])
def test_table_1_cells(rest, streak):
    """The six cells, a constant rest curve counting as nondecreasing."""
    printed = {
        ("nondecreasing", "constant"): 5 - 1,
        ("nondecreasing", "nondecreasing"): 5 + 1,
        ("nondecreasing", "arbitrary"): 30,
        ("arbitrary", "constant"): 5,
        ("arbitrary", "nondecreasing"): 5 + 2,
        ("arbitrary", "arbitrary"): 30,
    }
    row = "nondecreasing" if rest == "constant" else rest
    assert theory.block_error(5, 30, rest=rest, streak=streak) == printed[row, streak]


def test_table_1_reads_a_bandit():
    """The weakest arm decides, and a repeat that beats a rest leaves the first row."""
    assert theory.block_error(FLAT, 30) == 2
    assert theory.block_error(TIRED, 30) == 3 + 1  # arm 0 repeats for more than one rest pays
    assert theory.block_error(RISING, 30) == 30
    steps = Bandit([Curve([0.2, 0.9], [0.2]), Curve([0.5], [0.5])])
    assert theory.block_error(steps, 30) == 1


def test_floors_have_the_printed_values():
    """Equations 3, 9, 10 and 11, and their general forms, written out with numbers."""
    assert theory.best_cycle_floor(0.8, 3, 60, 12) == pytest.approx(0.8 - 3 / 12)
    assert theory.calibrated_block_floor(0.8, 3, 60, 12) == pytest.approx(0.8 - 3 / 12)
    assert theory.double_play_floor(0.8, 3, 60, 12) == pytest.approx(0.8 * (0.8 - 3 / 12))
    assert theory.calibration_sequence_floor(0.8, 3, 60, 12) == pytest.approx(
        12 / 15 * 0.8 - 3 / 15
    )
    assert theory.best_cycle_floor(0.8, 3, 60, 12, streaks=True) == pytest.approx(0.8 - 5 / 12)
    assert theory.calibration_sequence_floor(0.8, 3, 60, 12, streaks=True) == pytest.approx(
        12 / 15 * 0.8 - 5 / 15
    )


@pytest.mark.parametrize("floor", EVERY_FLOOR)
def test_the_calibrated_block_has_the_highest_floor(floor):
    """As the paper remarks, r̃'s floor is the highest once OPT ≥ K/d."""
    assert theory.calibrated_block_floor(0.8, 3, 60, 12) >= floor(0.8, 3, 60, 12)


def test_heuristic_time_order_in_both_forms():
    """T (K d²)^(5/2), and its value at d = T^(1/4)."""
    assert theory.heuristic_time_order(4, 10_000, length=10) == pytest.approx(
        theory.heuristic_time_order(4, 10_000)
    )
    assert theory.heuristic_time_order(4, 16, length=3) == pytest.approx(16 * 36**2.5)


SMALL_PERIODS = [
    list(periods)
    for size in (1, 2, 3, 4)
    for periods in combinations_with_replacement(range(1, 6), size)
]


def test_pinwheel_facts_agree_with_search():
    """On every instance of up to four periods up to five, no stated fact is contradicted."""
    decided = 0
    for periods in SMALL_PERIODS:
        facts = theory.pinwheel_facts(periods)
        assert facts.packing in (None, can_pack(periods)), periods
        assert facts.covering in (None, can_cover(periods)), periods
        decided += (facts.packing is not None) + (facts.covering is not None)
    assert decided > len(SMALL_PERIODS)


def test_density_alone_leaves_both_questions_open():
    """Between the thresholds both answers occur, and the facts say ``None``."""
    assert theory.pinwheel_facts([2, 3, 6]) == (Fraction(1), None, None)
    assert not can_pack([2, 3, 6])
    assert theory.pinwheel_facts([2, 4, 8, 8]) == (Fraction(1), None, None)
    assert can_pack([2, 4, 8, 8])


def test_the_covering_threshold_is_approached_from_below_by_uncoverable_instances():
    """Periods 2, 3, 5, 9, … cannot cover, so no threshold below Σ 1/(2^i + 1) would do."""
    assert not can_cover([2, 3, 5])
    assert not can_cover([2, 3, 5, 9])
    assert theory.pinwheel_facts([2, 3, 5, 9]).covering is None


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: theory.regret_bound(0, 10, 2), BanditError, "got 0"),
        (lambda: theory.regret_bound("five", 10, 2), BanditError, "got 'five'"),
        (lambda: theory.regret_bound(2, 0, 2), ExperimentError, "got 0"),
        (lambda: theory.regret_bound(2, 10, 0), BlockError, "got 0"),
        (lambda: theory.regret_bound(2, 10.5, 2), ExperimentError, "10.5"),
        (lambda: theory.regret_bound(2, 10, 3), BlockError, "use horizon 9"),
        (lambda: theory.regret_bound(TIRED, 10, 2), CurveError, "streaks=True"),
        (lambda: theory.regret_bound(RISING, 10, 2, streaks=True), CurveError, "Definition 1"),
        (lambda: theory.best_block_size(2, 1), ExperimentError, "got 1"),
        (lambda: theory.best_cycle_floor(1.2, 2, 10, 2), ExperimentError, "got 1.2"),
        (lambda: theory.best_cycle_floor(math.nan, 2, 10, 2), ExperimentError, "got nan"),
        (lambda: theory.calibration_sequence_floor(0.5, 3, 10, 5), BlockError, "multiple of 40"),
        (lambda: theory.state_change_loss(1, streaks=True), BanditError, "at least 2 arms"),
        (lambda: theory.state_change_loss(2, block=[]), BlockError, "at least one; got []"),
        (lambda: theory.state_change_loss(2, block=[0, 2]), BlockError, "arm 2"),
        (lambda: theory.block_error(2, 5, rest="flat"), CurveError, "'flat'"),
        (lambda: theory.pinwheel_density([]), BanditError, "periods is empty"),
        (lambda: theory.pinwheel_density([2.5]), BanditError, "got 2.5"),
        (lambda: theory.pinwheel_density([2, 0]), BanditError, "periods[1] must be"),
    ],
)
def test_what_a_statement_does_not_allow_is_refused(call, error, said):
    """Every assumption is checked, and the message repeats what was given."""
    with pytest.raises(error) as caught:
        call()
    assert said in str(caught.value)
    assert isinstance(caught.value, LastSwitchError)


def test_bandits_stand_for_their_number_of_arms():
    """A bandit that fits the statement gives the same numbers as its size."""
    assert theory.regret_bound(FLAT, 100, 10) == theory.regret_bound(2, 100, 10)
    assert theory.best_block_size(TIRED, 100, streaks=True) == theory.best_block_size(2, 100, True)
