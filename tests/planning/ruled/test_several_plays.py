"""Instances of several plays a round: what their papers say of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

import lastswitch as ls
from lastswitch.errors import BanditError
from lastswitch.model.instances import instance, k_delays, k_monotone, k_recovering, play_play_rest


@pytest.mark.parametrize(("rest", "plays"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
def test_the_tight_instance_earns_what_its_arms_can(rest, plays):
    """Each of the arms at most once in rest + 1 rounds."""
    best = ls.optimal_average(k_monotone(rest, plays))
    assert best.optimal
    assert best.fraction == Fraction(rest * plays, rest + 1)


def test_play_play_rest():
    """Two thirds, which no schedule without silence can earn."""
    assert ls.optimal_average(play_play_rest()).fraction == Fraction(2, 3)
    always = ls.Bandit(play_play_rest().curves)
    assert ls.optimal_average(always).value == 0.0


def test_recovering_arms_with_room_for_all_are_all_played():
    """With as many plays as arms nothing competes: each arm by itself, added up."""
    together = ls.optimal_average(k_recovering([0.8, 0.5], [2.0, 1.0], plays=2))
    alone = [
        ls.optimal_average(k_recovering([top], [scale], plays=1)).value
        for top, scale in [(0.8, 2.0), (0.5, 1.0)]
    ]
    assert together.value == pytest.approx(sum(alone))
    fewer = ls.optimal_average(k_recovering([0.8, 0.5], [2.0, 1.0], plays=1))
    assert fewer.value < together.value


def test_delays_may_pay_for_one_moment_only():
    """An arm that pays at delay 2 alone is played every other round."""
    bandit = k_delays([[0.0, 0.9, 0.1]], plays=1)
    assert ls.optimal_average(bandit).fraction == Fraction(9, 20)
    assert bandit.initial == (-1,)


def test_they_have_names():
    """The command line finds them."""
    assert instance("k-monotone:3:2") == k_monotone(3, 2)
    assert instance("k-recovering:0.8,0.5:2,1:2") == k_recovering([0.8, 0.5], [2.0, 1.0], 2)
    assert instance("play-play-rest") == play_play_rest()
    with pytest.raises(BanditError):
        instance("k-recovering:0.8,0.5:2,1:3")
