"""Bandits with a name: the paper's, the classical special cases, and seeded random families.

What the paper states in delays (its experiments, its hardness reductions) goes through
:meth:`Curve.from_delays` and starts at ``initial=-1``, every delay equal to 1; what it states in
switch states (its Examples 1 and 2) is written down as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from lastswitch._utils.checks import check_list, check_positive, check_unit, check_whole
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import BanditError, CurveError, InputTypeError
from lastswitch.model.bandit import Bandit
from lastswitch.model.curves import MOST_ROUNDS, Curve, constant, naming_arm, periodic, step
from lastswitch.model.families import FAMILIES, random_bandit
from lastswitch.model.several import k_delays, k_monotone, k_recovering, play_play_rest
from lastswitch.model.worlds import MISSPECIFIED, World, misspecified

__all__ = [
    "FAMILIES",
    "INSTANCES",
    "MISSPECIFIED",
    "NeverRepeating",
    "World",
    "blocking",
    "delay_dependent",
    "example_1",
    "example_2",
    "five_arms",
    "instance",
    "k_delays",
    "k_monotone",
    "k_recovering",
    "misspecified",
    "never_repeating",
    "pinwheel",
    "pinwheel_sqrt",
    "play_play_rest",
    "random_bandit",
    "recharging",
    "seasonal",
    "stationary",
    "two_arms",
]

# ----------------------------------------------------------------------------- the paper's bandits


def five_arms() -> Bandit:
    """Return the five arms of the main experiment, Laforgue et al. (2022), Section 4.

    Arm 0 pays 0.95 at delay 3 and nothing otherwise; arm 1 pays 0.96 from delay 9 on, 0.16 at
    delay 6 and 0.14 otherwise; the others always pay 0.15.

    Examples
    --------
    >>> bandit = five_arms()
    >>> bandit.mean(0, 2), bandit.mean(1, 8)  # delays 3 and 9
    (0.95, 0.96)
    """
    spike = [0.0, 0.0, 0.95, 0.0]
    late = [0.14] * 5 + [0.16] + [0.14] * 2 + [0.96]
    return delay_dependent([spike, late, [0.15], [0.15], [0.15]])


def two_arms() -> Bandit:
    """Return the two arms that fool the greedy oracle, Laforgue et al. (2022), Appendix C.

    Examples
    --------
    >>> bandit = two_arms()
    >>> bandit.mean(0, -1), bandit.mean(0, 1), bandit.mean(1, 1)
    (0.06, 0.95, 0.05)
    """
    return delay_dependent([[0.06, 0.95], [0.05]])


def example_1(epsilon: float = 0.1) -> Bandit:
    """Return Example 1: greedy earns 1 + (T − 1)ε where the optimum earns T/2.

    Examples
    --------
    >>> bandit = example_1(0.25)
    >>> bandit.mean(0, -1), bandit.mean(0, 1)
    (0.25, 1.0)
    """
    check_unit("epsilon", epsilon)
    return Bandit([step(at=1, high=1.0, low=epsilon), constant(0.0)])


def example_2(n_arms: int = 4) -> Bandit:
    """Return Example 2: each of K arms pays 1 once it has rested K − 1 rounds.

    Playing the arms in turn pays 1 a round; repeating 2K − 1 rounds of that turn pays only
    K/(2K − 1), which shows the analysis of cycles to be nearly tight.

    Examples
    --------
    >>> example_2(3).mean(0, 1), example_2(3).mean(0, 2)
    (0.0, 1.0)
    """
    check_whole("n_arms", n_arms, least=2)
    return Bandit([step(at=n_arms - 1, high=1.0)] * n_arms)


def pinwheel(periods: Sequence[int]) -> Bandit:
    """Return the step reduction of pinwheel scheduling, with its null arm.

    Arm i pays 1 when its delay is at least ``periods[i]`` and nothing before; one more arm never
    pays. A dense instance (Σ 1/period = 1) has a schedule exactly when the best average is 1
    (Laforgue et al. (2022), Proof of Proposition 1).

    Examples
    --------
    >>> bandit = pinwheel([2, 4, 4])
    >>> bandit.n_arms, bandit.mean(1, 2), bandit.mean(1, 3)
    (4, 0.0, 1.0)
    """
    periods = checked_periods(periods)
    delays = [*periods, 1]
    names = [f"{arm}: every {period}" for arm, period in enumerate(periods)]
    return blocking(delays, [1.0] * len(periods) + [0.0], names=[*names, "null"])


def pinwheel_sqrt(periods: Sequence[int]) -> Bandit:
    """Return the square-root reduction of pinwheel scheduling: ordered arms, no null arm.

    The paper's bounded curves, sqrt(min(delay, d_max) / d_i), exceed 1 for every arm but the
    slowest. Here all of them are divided by the largest value, sqrt(d_max / d_min): one factor
    for all arms multiplies every schedule's reward alike, so the best schedule stays the best,
    and the curves keep the separable form μ_i⁰ · γ(delay) the proposition is about. A dense
    instance has a schedule exactly when its best cycle averages sqrt(d_min / d_max)
    (Laforgue et al. (2022), Proof of Proposition 3, where that value is 1 before the scaling).

    Examples
    --------
    >>> bandit = pinwheel_sqrt([2, 4, 4])
    >>> round(bandit.mean(0, 1), 6), round(bandit.mean(1, 3), 6), bandit.mean(0, 3)
    (0.707107, 0.707107, 1.0)
    """
    periods = checked_periods(periods)
    fastest, slowest = min(periods), max(periods)
    gamma = [math.sqrt(delay / slowest) for delay in range(1, slowest + 1)]
    scales = [math.sqrt(fastest / period) for period in periods]
    return delay_dependent([[scale * value for value in gamma] for scale in scales])


def checked_periods(periods: Sequence[int]) -> list[int]:
    """Return the periods of a pinwheel as whole numbers.

    Examples
    --------
    >>> checked_periods([])
    Traceback (most recent call last):
    lastswitch.errors.BanditError: periods is empty: a pinwheel needs at least one, such as [2, 4].
    """
    values = [
        check_whole(f"periods[{arm}]", period, 1, most=MOST_ROUNDS)
        for arm, period in enumerate(check_list("periods", periods))
    ]
    if not values:
        raise BanditError("periods is empty: a pinwheel needs at least one, such as [2, 4].")
    return values


class NeverRepeating(NamedTuple):
    """A bandit of three arms, and an optimal block along which no state occurs twice."""

    bandit: Bandit
    block: tuple[int, ...]


def never_repeating(m: int) -> NeverRepeating:
    """Return the three-arm sequence that visits no state twice, up to runs of length ``m``.

    For n = 1, …, m: arm 0 n times, arm 1 n times, arm 2 n times. All arms always pay 1, so this
    optimal policy is not cyclic (Laforgue et al. (2022), after the proof of Lemma 1).

    The paper lets its states start at 0, which is no accident: from 1 the second state would
    come back. Starting at (1, −1, −1) is the same thing in states that play can reach.

    Examples
    --------
    >>> never_repeating(2).block
    (0, 1, 2, 0, 0, 1, 1, 2, 2)
    """
    check_whole("m", m, least=1)
    block = tuple(arm for run in range(1, m + 1) for arm in range(3) for _ in range(run))
    return NeverRepeating(Bandit([constant(1.0)] * 3, initial=[1, -1, -1]), block)


# ------------------------------------------------------------------------------- the special cases


def stationary(means: Sequence[float]) -> Bandit:
    """Return the classical bandit, whose arms neither tire nor recover.

    Examples
    --------
    >>> stationary([0.2, 0.5]).mean(1, -7)
    0.5
    """
    pays = check_list("means", means)
    for arm, mean in enumerate(pays):
        check_unit(f"means[{arm}]", mean)
    return Bandit([constant(mean) for mean in pays])


def delay_dependent(
    tables: Sequence[Sequence[float]], names: Sequence[str] | None = None
) -> Bandit:
    """Return a bandit stated in delays: ``tables[i][j - 1]`` is what arm i pays at delay j.

    Delay 1 is an immediate repeat; the last entry holds for every longer delay; every delay is 1
    at the start.

    Examples
    --------
    >>> bandit = delay_dependent([[0.1, 0.5, 0.8]])
    >>> [bandit.mean(0, tau) for tau in (-2, -1, 1, 2, 9)]
    [0.1, 0.1, 0.5, 0.8, 0.8]
    """
    curves = []
    for arm, table in enumerate(check_list("tables", tables, "one table per arm")):
        with naming_arm(f"arm {arm}"):
            curves.append(Curve.from_delays(table))
    return Bandit(curves, names=names, initial=-1)


def recharging(ceilings: Sequence[float], scales: Sequence[float], depth: int = 20) -> Bandit:
    r"""Return arms that recharge concavely: ceiling · (1 − exp(−delay / scale)).

    The setting of Kleinberg and Immorlica (2018), bounded: the increments never grow, the one
    from 0 to a repeat included. Curves hold from delay ``depth`` on.

    Examples
    --------
    >>> bandit = recharging([0.8], scales=[2.0])
    >>> round(bandit.mean(0, -1), 3), round(bandit.mean(0, 19), 3)
    (0.315, 0.8)
    """
    pairs = _paired("ceilings", ceilings, "scales", scales)
    check_whole("depth", depth, least=1, most=MOST_ROUNDS)
    for arm, (ceiling, scale) in enumerate(pairs):
        check_unit(f"ceilings[{arm}]", ceiling)
        check_positive(f"scales[{arm}]", scale, CurveError)
    return delay_dependent(
        [
            [-ceiling * math.expm1(-delay / scale) for delay in range(1, depth + 1)]
            for ceiling, scale in pairs
        ]
    )


def blocking(
    delays: Sequence[int], means: Sequence[float], names: Sequence[str] | None = None
) -> Bandit:
    """Return arms that pay their mean only when their delay has passed, and nothing before.

    The setting of Basu et al. (2019), where a blocked arm may not be played; here it may, and
    pays 0.

    Examples
    --------
    >>> bandit = blocking(delays=[3], means=[0.7])
    >>> bandit.mean(0, 1), bandit.mean(0, 2)  # delays 2 and 3
    (0.0, 0.7)
    """
    pairs = _paired("delays", delays, "means", means)
    for arm, (delay, mean) in enumerate(pairs):
        check_whole(f"delays[{arm}]", delay, least=1, most=MOST_ROUNDS)
        check_unit(f"means[{arm}]", mean)
    return delay_dependent([[0.0] * (delay - 1) + [mean] for delay, mean in pairs], names=names)


def seasonal(seasons: Sequence[Sequence[float]], streak: float = 0.0) -> Bandit:
    """Return arms whose rest curves are periodic: ``seasons[i]`` repeats, a repeat pays ``streak``.

    Examples
    --------
    >>> bandit = seasonal([[0.1, 0.9]], streak=0.05)
    >>> [bandit.mean(0, tau) for tau in (-1, 1, 2, 3, 4)]
    [0.05, 0.1, 0.9, 0.1, 0.9]
    """
    check_unit("streak", streak)
    curves = []
    for arm, season in enumerate(check_list("seasons", seasons, "one season per arm")):
        with naming_arm(f"arm {arm}"):
            curves.append(periodic(season, streak))
    return Bandit(curves)


# ------------------------------------------------------------------------------- instances by name


@dataclass(frozen=True)
class _Entry:
    build: Callable[..., Bandit]
    readers: tuple[Callable[[str], Any], ...]
    usage: str
    optional: bool = False  # whether the parameters may all be left out


def _floats(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


_REGISTRY: Mapping[str, _Entry] = {
    "five-arms": _Entry(five_arms, (), "five-arms"),
    "two-arms": _Entry(two_arms, (), "two-arms"),
    "example-1": _Entry(example_1, (float,), "example-1:0.1", optional=True),
    "example-2": _Entry(example_2, (int,), "example-2:4", optional=True),
    "pinwheel": _Entry(pinwheel, (_integers,), "pinwheel:2,4,8,8"),
    "pinwheel-sqrt": _Entry(pinwheel_sqrt, (_integers,), "pinwheel-sqrt:2,4,8,8"),
    "never-repeating": _Entry(lambda: never_repeating(1).bandit, (), "never-repeating"),
    "stationary": _Entry(stationary, (_floats,), "stationary:0.2,0.5"),
    "recharging": _Entry(recharging, (_floats, _floats), "recharging:0.8,0.6:2,5"),
    "blocking": _Entry(blocking, (_integers, _floats), "blocking:2,3:0.5,0.9"),
    "k-recovering": _Entry(
        k_recovering, (_floats, _floats, int), "k-recovering:0.8,0.6,0.5:2,5,1:2"
    ),
    "k-monotone": _Entry(k_monotone, (int, int), "k-monotone:3:2"),
    "play-play-rest": _Entry(play_play_rest, (), "play-play-rest"),
    "random": _Entry(random_bandit, (str, int, int, int), "random:spike:5:8:0"),
}

#: What ``instance`` understands: each name with an example of how to write it.
INSTANCES: Mapping[str, str] = MappingProxyType(
    {name: entry.usage for name, entry in _REGISTRY.items()}
)


def instance(text: str) -> Bandit:
    """Return the bandit a short text names, such as ``"five-arms"`` or ``"pinwheel:2,4,8,8"``.

    Parameters
    ----------
    text
        A name of ``INSTANCES``; parameters follow after colons, lists separated by commas.

    Examples
    --------
    >>> instance("pinwheel:2,4,4").n_arms
    4
    >>> instance("random:spike:5:8:0") == random_bandit("spike", 5, 8, 0)
    True
    """
    if not isinstance(text, str):
        raise InputTypeError(f"an instance is named by a text such as 'five-arms', got {text!r}.")
    name, *given = text.strip().split(":")
    if name not in _REGISTRY:
        raise BanditError(
            f"there is no instance {name!r}{suggestion(name, _REGISTRY)}; "
            f"write one of {', '.join(INSTANCES.values())}."
        )
    entry = _REGISTRY[name]
    if len(given) != len(entry.readers) and not (entry.optional and not given):
        raise BanditError(
            f"instance {name!r} takes {len(entry.readers)} parameters after colons, "
            f"got {len(given)} in {text!r}; write it like {entry.usage!r}."
        )
    try:
        arguments = [read(part) for read, part in zip(entry.readers, given, strict=False)]
    except ValueError as error:
        raise BanditError(
            f"instance {text!r} has a parameter that is not a number: {error}; "
            f"write it like {entry.usage!r}."
        ) from error
    return entry.build(*arguments)


# ------------------------------------------------------------------------------------------ checks


def _paired(a: str, first: Sequence[Any], b: str, second: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the entries of two lists arm by arm."""
    left, right = check_list(a, first), check_list(b, second)
    if len(left) != len(right):
        raise BanditError(
            f"{a} and {b} must have one entry per arm each, got {len(left)} and {len(right)}."
        )
    return list(zip(left, right, strict=True))
