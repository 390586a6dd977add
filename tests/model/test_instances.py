"""The named bandits say what the paper and the literature say they are."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from lastswitch import Bandit, block_reward, cycle_reward
from lastswitch.errors import BanditError, CurveError
from lastswitch.model.instances import (
    FAMILIES,
    INSTANCES,
    blocking,
    delay_dependent,
    example_1,
    example_2,
    five_arms,
    instance,
    never_repeating,
    pinwheel,
    pinwheel_sqrt,
    random_bandit,
    recharging,
    seasonal,
    stationary,
    two_arms,
)
from lastswitch.model.states import trajectory


def by_delay(bandit: Bandit, arm: int, delay: int) -> float:
    """Return what ``arm`` pays ``delay`` rounds after its last play."""
    return bandit.mean(arm, -1 if delay == 1 else delay - 1)


def averages(bandit: Bandit, length: int) -> list[float]:
    """Return the average reward of every cycle of ``length``, by enumeration."""
    cycles = itertools.product(range(bandit.n_arms), repeat=length)
    return [cycle_reward(bandit, cycle) / length for cycle in cycles]


def test_five_arms_pay_what_the_paper_prints_at_each_delay():
    """Section 4's formulas, delay by delay."""
    bandit = five_arms()
    for delay in range(1, 30):
        late = 0.16 if delay == 6 else 0.96 if delay >= 9 else 0.14
        paper = [0.95 if delay == 3 else 0.0, late, 0.15, 0.15, 0.15]
        assert [by_delay(bandit, arm, delay) for arm in range(5)] == paper


def test_five_arms_reach_the_known_best_average():
    """One optimal cycle has nine rounds and earns 4.56."""
    cycle = [1, 0, 2, 2, 0, 2, 2, 0, 2]
    assert cycle_reward(five_arms(), cycle) == pytest.approx(4.56)


def test_two_arms_alternate_at_one_half():
    """Appendix C: alternating earns 0.5 a round, insisting on arm 0 earns 0.06."""
    assert cycle_reward(two_arms(), [0, 1]) / 2 == pytest.approx(0.5)
    assert cycle_reward(two_arms(), [0]) == pytest.approx(0.06)


@pytest.mark.parametrize("bandit", [five_arms(), two_arms(), pinwheel([2, 2])])
def test_models_stated_in_delays_start_at_delay_one(bandit):
    """Delay 1 is a streak of one."""
    assert set(bandit.initial) == {-1}


def test_example_1_greedy_earns_epsilon_and_alternating_earns_half():
    """Example 1: 1 + (T - 1) epsilon against T/2."""
    bandit, horizon = example_1(0.01), 100
    start = bandit.start()
    assert block_reward(bandit, [0] * horizon, start) == pytest.approx(1 + (horizon - 1) * 0.01)
    assert block_reward(bandit, [0, 1] * (horizon // 2), start) == pytest.approx(horizon / 2)


@pytest.mark.parametrize("n_arms", [2, 3, 7])
def test_example_2_repeating_a_long_block_earns_about_half(n_arms):
    """Example 2: K/(2K - 1) where taking turns earns 1."""
    turn = [*range(n_arms)]
    block = turn + turn[:-1]
    assert cycle_reward(example_2(n_arms), turn) == n_arms
    assert cycle_reward(example_2(n_arms), block) == n_arms


@pytest.mark.parametrize("periods", [[1], [2, 4, 4], [3, 5]])
def test_pinwheel_pays_from_each_period_on_and_has_a_null_arm(periods):
    """Arm i pays 1 exactly when its delay reaches its period."""
    bandit = pinwheel(periods)
    assert bandit.n_arms == len(periods) + 1
    for arm, period in enumerate(periods):
        pays = [by_delay(bandit, arm, delay) for delay in range(1, 10)]
        assert pays == [float(delay >= period) for delay in range(1, 10)]
    assert bandit.curves[-1].is_constant
    assert bandit.mean(len(periods), 9) == 0.0


def test_a_pinwheel_schedule_pays_one_every_round():
    """[2, 4, 8, 8] is a YES instance, and this is its schedule."""
    assert cycle_reward(pinwheel([2, 4, 8, 8]), [0, 1, 0, 2, 0, 1, 0, 3]) == 8


def test_square_root_pinwheel_is_the_paper_s_bounded_curve_times_one_factor():
    """Every value is sqrt(min(delay, d_max) / d_i), all scaled alike."""
    periods = [2, 3, 6]
    bandit, factor = pinwheel_sqrt(periods), math.sqrt(2 / 6)
    for arm, period in enumerate(periods):
        for delay in range(1, 12):
            paper = math.sqrt(min(delay, 6) / period)
            assert by_delay(bandit, arm, delay) == pytest.approx(factor * paper, abs=1e-12)


@pytest.mark.parametrize(
    ("periods", "length", "schedulable"), [([2, 4, 4], 4, True), ([2, 3, 6], 6, False)]
)
def test_square_root_pinwheel_tells_yes_from_no(periods, length, schedulable):
    """A dense instance has a schedule exactly when a cycle averages sqrt(d_min / d_max)."""
    best = max(averages(pinwheel_sqrt(periods), length))
    target = math.sqrt(min(periods) / max(periods))
    assert best <= target + 1e-12
    assert (best >= target - 1e-12) is schedulable


def test_the_never_repeating_sequence_never_repeats_a_state():
    """All the states along it differ, though it pays the most possible."""
    bandit, block = never_repeating(12)
    states = trajectory(bandit.start(), block)
    assert len({tuple(state) for state in states.tolist()}) == len(block) + 1
    assert block_reward(bandit, block, bandit.start()) == len(block)


def test_the_never_repeating_sequence_has_the_paper_s_states():
    """After each play, the states are those of the paper's formula."""
    bandit, block = never_repeating(4)
    states = trajectory(bandit.start(), block)[1:].tolist()
    expected = []
    for m in range(1, 5):
        expected += [[-t, m - 1 + t, t] for t in range(1, m + 1)]
        expected += [[t, -t, m + t] for t in range(1, m + 1)]
        expected += [[m + t, t, -t] for t in range(1, m + 1)]
    assert states == expected


def test_stationary_arms_never_change():
    """A stationary arm pays its mean in every state."""
    bandit = stationary([0.2, 0.7])
    assert bandit.mean(1, -9) == bandit.mean(1, 1) == bandit.mean(1, 50) == 0.7


def test_delay_tables_are_read_by_delay():
    """The first entry is a repeat, the last holds."""
    bandit = delay_dependent([[0.1, 0.2, 0.3]])
    assert [by_delay(bandit, 0, delay) for delay in range(1, 6)] == [0.1, 0.2, 0.3, 0.3, 0.3]


def test_recharging_is_concave_from_the_origin():
    """Increments never grow, the one from 0 to a repeat included."""
    bandit = recharging([0.9], [4.0], depth=12)
    pays = [0.0, *(by_delay(bandit, 0, delay) for delay in range(1, 20))]
    gains = np.diff(pays)
    assert np.all(gains >= 0)
    assert np.all(np.diff(gains) <= 1e-12)


def test_blocking_pays_only_once_the_delay_has_passed():
    """Nothing before the delay, the mean from it on."""
    bandit = blocking([3, 1], [0.7, 0.2])
    assert [by_delay(bandit, 0, delay) for delay in (1, 2, 3, 4)] == [0.0, 0.0, 0.7, 0.7]
    assert [by_delay(bandit, 1, delay) for delay in (1, 2, 3, 4)] == [0.2] * 4


def test_seasons_repeat():
    """A seasonal rest curve comes round again."""
    bandit = seasonal([[0.1, 0.5, 0.9]], streak=0.2)
    assert [bandit.mean(0, tau) for tau in range(1, 10)] == [0.1, 0.5, 0.9] * 3
    assert bandit.mean(0, -4) == 0.2


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("depth", [1, 2, 9])
def test_random_families_are_seeded_and_within_depth(family, depth):
    """The same seed gives the same bandit, and no curve changes beyond the depth."""
    bandit = random_bandit(family, 6, depth, seed=3)
    assert bandit == random_bandit(family, 6, depth, seed=3)
    assert bandit.n_arms == 6
    assert max(curve.support().rest for curve in bandit.curves) <= depth
    assert max(curve.support().streak for curve in bandit.curves) <= depth
    if depth > 1:
        assert bandit != random_bandit(family, 6, depth, seed=4)


KINDS = {
    "spike": {("arbitrary", "constant")},
    "step": {("nondecreasing", "constant")},
    "monotone": {("nondecreasing", "constant")},
    "seasonal": {("arbitrary", "constant")},
    "satiating": {("nondecreasing", "nondecreasing")},
    "uniform": {("arbitrary", "constant")},
    "mixed": set(itertools.product(["constant", "nondecreasing", "arbitrary"], repeat=2)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_random_families_have_the_shape_of_their_name(family):
    """Each family lands in its cell of the paper's Table 1; a step at 1 is flat."""
    curves = random_bandit(family, 40, 6, seed=0).curves
    kinds = {curve.kind for curve in curves}
    assert kinds - {("constant", "constant")} <= KINDS[family]
    if family == "mixed":
        assert len(kinds) >= 3


PINNED = {
    "spike": ((0.0912, 0.0912, 0.9314, 0.0912), (0.0912,)),
    "step": ((0.0196, 0.5458), (0.0196,)),
    "monotone": ((0.5266, 0.7094, 0.7721, 0.8711), (0.3654,)),
    "seasonal": ((0.9532, 0.7451, 0.0094, 0.1974), (0.1635,)),
    "satiating": ((0.7104, 0.7341, 0.8252, 0.9696), (0.6961, 0.6229, 0.2269, 0.0442)),
    "mixed": ((0.8808, 0.1193, 0.1193, 0.1193), (0.1193,)),
    "uniform": ((0.4929, 0.1829, 0.0234, 0.3037), (0.3944,)),
}


def test_random_values_are_the_same_on_every_platform():
    """Pinned: what seed 0 draws is part of the library's promise."""
    drawn = {family: random_bandit(family, 1, 4, 0).curves[0] for family in FAMILIES}
    tables = {family: (curve.rest, curve.streak) for family, curve in drawn.items()}
    assert tables == PINNED


@pytest.mark.parametrize("text", INSTANCES.values())
def test_every_listed_instance_can_be_built_as_listed(text):
    """The usage shown to people works."""
    assert isinstance(instance(text), Bandit)


@pytest.mark.parametrize(
    ("text", "bandit"),
    [
        ("five-arms", five_arms()),
        ("example-1", example_1()),
        ("example-1:0.25", example_1(0.25)),
        (" pinwheel:2,4,8,8 ", pinwheel([2, 4, 8, 8])),
        ("blocking:2,3:0.5,0.9", blocking([2, 3], [0.5, 0.9])),
        ("random:step:4:6:9", random_bandit("step", 4, 6, 9)),
    ],
)
def test_instances_are_found_by_name_and_parameters(text, bandit):
    """Text and constructor give the same bandit."""
    assert instance(text) == bandit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("five-arm", "there is no instance 'five-arm' (did you mean 'five-arms'?)"),
        ("", "there is no instance ''"),
        ("pinwheel", "takes 1 parameters after colons, got 0 in 'pinwheel'"),
        ("five-arms:3", "takes 0 parameters after colons, got 1 in 'five-arms:3'"),
        ("pinwheel:2,x", "'pinwheel:2,x' has a parameter that is not a number"),
        ("pinwheel:2,,4", "write it like 'pinwheel:2,4,8,8'"),
        ("random:spiky:5:8:0", "got 'spiky' (did you mean 'spike'?)"),
        ("random:spike:5:0:0", "depth must be a whole number of at least 1, got 0"),
        ("random:spike:5:8:-1", "seed must be a whole number of at least 0, got -1"),
    ],
)
def test_a_wrong_instance_text_says_what_to_write(text, message):
    """The message repeats what was given and shows a text that works."""
    with pytest.raises(BanditError, match=re.escape(message)):
        instance(text)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: example_1(1.5), "epsilon must lie in [0, 1], got 1.5"),
        (lambda: stationary([0.2, math.nan]), "means[1] must lie in [0, 1], got nan"),
        (lambda: blocking([2], [-0.1]), "means[0] must lie in [0, 1], got -0.1"),
        (lambda: recharging([2.0], [1.0]), "ceilings[0] must lie in [0, 1], got 2.0"),
        (
            lambda: recharging([0.5], [0.0]),
            "scales[0] must be positive, got 0.0",
        ),
        (lambda: seasonal([[0.1]], streak=2), "streak must lie in [0, 1], got 2"),
        (lambda: delay_dependent([[0.1], [0.2, 1.5]]), "arm 'arm 1': delays must lie in [0, 1]"),
        (lambda: seasonal([[0.1], [1.5]]), "arm 'arm 1': rest must lie in [0, 1], got 1.5"),
    ],
)
def test_values_that_are_no_curve_are_refused(build, message):
    """The message names the argument, the arm and the value."""
    with pytest.raises(CurveError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: example_2(1), "n_arms must be a whole number of at least 2, got 1"),
        (lambda: pinwheel([]), "periods is empty"),
        (lambda: pinwheel([2, 0]), "periods[1] must be a whole number of at least 1, got 0"),
        (lambda: pinwheel_sqrt([2.5]), "periods[0] must be a whole number of at least 1, got 2.5"),
        (lambda: never_repeating(0), "m must be a whole number of at least 1, got 0"),
        (
            lambda: blocking([2, 3], [0.5]),
            "delays and means must have one entry per arm each, got 2 and 1",
        ),
        (
            lambda: recharging([0.5], []),
            "ceilings and scales must have one entry per arm each, got 1 and 0",
        ),
        (lambda: stationary([]), "at least one arm"),
        (
            lambda: random_bandit("spike", 0, 3, 0),
            "n_arms must be a whole number of at least 1, got 0",
        ),
        (lambda: random_bandit("spike", True, 3, 0), "got True"),
    ],
)
def test_parameters_that_make_no_bandit_are_refused(build, message):
    """The message names the argument and repeats what was given."""
    with pytest.raises(BanditError, match=re.escape(message)):
        build()
