"""Bandits of several plays a round: the settings of three neighbouring papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lastswitch._utils.checks import check_whole
from lastswitch.model.bandit import Bandit
from lastswitch.model.curves import MOST_ROUNDS, Curve, step


def k_recovering(ceilings: Sequence[float], scales: Sequence[float], plays: int) -> Bandit:
    """Return concavely recovering arms of which a round plays up to ``plays``.

    The setting of Simchi-Levi, Zheng and Zhu (2021).

    Examples
    --------
    >>> k_recovering([0.8, 0.6, 0.5], scales=[2.0, 5.0, 1.0], plays=2).plays
    (0, 2)
    """
    from lastswitch.model.instances import recharging

    return replace(recharging(ceilings, scales), plays=(0, plays))


def k_delays(delays: Sequence[Sequence[float]], plays: int) -> Bandit:
    """Return arms given by what they pay at each delay, of which a round plays up to ``plays``.

    The setting of Papadigenopoulos, Caramanis and Shakkottai (2022): pays need not be monotone.

    Examples
    --------
    >>> k_delays([[0.0, 0.9], [0.2, 0.1, 0.8]], plays=1).mean(1, 2)  # delay 3
    0.8
    """
    from lastswitch.model.instances import delay_dependent

    return replace(delay_dependent(delays), plays=(0, plays))


def k_monotone(rest: int, plays: int) -> Bandit:
    """Return ``rest * plays`` equal arms that pay 1 from so many rounds of rest on, else nothing.

    The instance that makes the guarantee of Foussoul et al. (2023) tight; up to ``plays`` of them
    are played a round. The best average is ``rest * plays / (rest + 1)``.

    Examples
    --------
    >>> import lastswitch as ls
    >>> ls.optimal_average(k_monotone(2, plays=2)).fraction
    Fraction(4, 3)
    """
    check_whole("rest", rest, least=1, most=MOST_ROUNDS)
    check_whole("plays", plays, least=1)
    return Bandit([step(rest, 1.0)] * (rest * plays), plays=(0, plays))


def play_play_rest() -> Bandit:
    """Return one arm that pays 1 rested and once more right after, with silence allowed.

    From Foussoul et al. (2023): the best average is 2/3, by playing twice and resting once.

    Examples
    --------
    >>> import lastswitch as ls
    >>> best = ls.optimal_average(play_play_rest())
    >>> best.fraction, sorted(best.rounds)
    (Fraction(2, 3), [(), (0,), (0,)])
    """
    return Bandit([Curve([1.0], [1.0, 0.0])], plays=(0, 1))
