"""Reading a plan: as a calendar in words, and as a picture."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING

from lastswitch._utils.drawing import INK, MUTED, colour, fonts, house_style, legible, new_axes
from lastswitch._utils.listing import first_dozen
from lastswitch.errors import PlanError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastswitch.planning.plan import Plan

#: Columns of a terminal, and slots of a calendar row, not to go beyond.
LINE, ROW = 88, 12
#: Lanes of a picture not to go beyond, and letters of its title to an inch.
LANES, LETTERS = 24, 12
#: What a round without a play is called.
SILENT = "·"


def calendar(plan: Plan) -> str:
    """Return the plan in words: the schedule in rows, what every arm pays, the caps it implies.

    Examples
    --------
    >>> from lastswitch.planning.plan import Plan
    >>> print(calendar(Plan((0, 1, 1, 0, 1, 1), 2.0, 2.0, names=("jazz", "talk"))))
    6 rounds, worth 2 (0.333 per round), proven optimal
      0-5  jazz  talk  talk  jazz  talk  talk
    jazz: 2 plays; at most once every 3 rounds
    talk: 4 plays; at most 2 in a row, then at least 1 round of rest
    """
    pays = _pays(plan)
    lines = [headline(plan), *_rows(plan)]
    for arm, name in enumerate(plan.names):
        slots = [slot for slot, played in enumerate(plan.rounds) if arm in played]
        if slots:
            text = f"{name}: {_count(len(slots), 'play')}"
            if arm in pays:
                text += f", paying {pays[arm]:.4g} ({pays[arm] / len(slots):.3g} a play)"
            lines.append(f"{text}; {cap(slots, len(plan.rounds), plan.repeats)}")
    idle = [name for arm, name in enumerate(plan.names) if not any(arm in a for a in plan.rounds)]
    if idle:
        lines.append(f"not played: {first_dozen(idle, 'the others of plan.names')}")
    return "\n".join(lines)


def _pays(plan: Plan) -> dict[int, float]:
    """Return what the plays of each arm pay in all; nothing if the plan has no problem."""
    from lastswitch.planning.problem import BlockProblem

    if plan.problem is None:
        return {}
    if isinstance(plan.problem, BlockProblem):
        pulls = plan.problem.pulls(plan.block)
    else:
        pulls = [pull for row in plan.problem.pulls(plan.rounds) for pull in row]
    pays: dict[int, float] = {}
    for pull in pulls:
        pays[pull.arm] = pays.get(pull.arm, 0.0) + pull.pay
    return pays


def headline(plan: Plan) -> str:
    """Return what the plan is worth and how good that is, in one line.

    Examples
    --------
    >>> from lastswitch.planning.plan import Plan
    >>> headline(Plan((0, 0), 0.99, 1.0))
    '2 rounds, worth 0.99 (0.495 per round), within 1.1 % of the best possible'
    """
    length = len(plan.rounds)
    what = f"cycle of {length} rounds" if plan.repeats else _count(length, "round")
    worth = f"worth {plan.value:.5g}" + (" a turn" if plan.repeats else "")
    return f"{what}, {worth} ({plan.per_round:.3g} per round), {quality(plan)}"


def quality(plan: Plan) -> str:
    """Return how far from the best possible the plan can be, in words.

    Examples
    --------
    >>> from lastswitch.planning.plan import Plan
    >>> quality(Plan((0,), 0.0, 1.0))
    'at most 1 is possible'
    """
    if plan.optimal:
        return "proven optimal"
    if plan.gap >= 1.0:
        return f"at most {plan.bound:.5g} is possible"
    # Rounded up, in per cent with two digits, so that the promise holds as printed.
    digits = 1 - math.floor(math.log10(100 * plan.gap))
    share = math.ceil(100 * plan.gap * 10**digits - 1e-6) / 10**digits  # 0.02 is 2 %, not 2.1
    return f"within {share:.{max(digits, 0)}f} % of the best possible"


def cap(slots: list[int], length: int, cycle: bool) -> str:
    """Return the cap a schedule implies for an arm played in ``slots``.

    Examples
    --------
    >>> cap([0, 4, 7], 9, cycle=True), cap([0, 1, 5, 6], 9, cycle=False)
    ('at most once every 2 rounds', 'at most 2 in a row, then at least 3 rounds of rest')
    """
    if len(slots) == length:
        return "every round"
    runs = _runs(slots, length, cycle)
    longest = max(size for _, size in runs)
    following = runs[1:] + ([(runs[0][0] + length, 0)] if cycle else [])
    rests = [
        after - start - size for (start, size), (after, _) in zip(runs, following, strict=False)
    ]
    if not rests:
        return "once" if longest == 1 else f"{longest} in a row, once"
    if longest == 1:
        return f"at most once every {min(rests) + 1} rounds"
    return f"at most {longest} in a row, then at least {_count(min(rests), 'round')} of rest"


def draw(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw a lane per arm, its plays filled, over what its state would pay; return the axes."""
    if plan.problem is None:
        raise PlanError(
            "this plan does not carry its problem, so there are no pays to draw; plan again."
        )
    from matplotlib.ticker import MaxNLocator

    from lastswitch.planning.problem import BlockProblem

    if isinstance(plan.problem, BlockProblem):
        offers = plan.problem.offers(plan.block)
    else:
        offers = plan.problem.offers(plan.rounds)
    length, n_arms = offers.shape
    shown = _shown(plan, n_arms)
    scale = max(float(abs(offers[:, shown]).max()), 1e-12)
    note = f"line: what the arm would pay if played (lane height = {scale:.3g})"
    if len(shown) < n_arms:
        note = f"{len(shown)} of {n_arms:,} arms; {note}"
    with house_style():
        width = min(max(5.0, 0.32 * length + 1.8), 18.0)
        axes = new_axes(ax, width, 1.1 + 0.5 * len(shown))
        for lane, arm in enumerate(shown):
            _lane(axes, plan, arm, lane, offers[:, arm] / scale)
        names = [legible(plan.names[arm], 18) for arm in shown]
        axes.set_yticks(range(len(shown)), names, fontfamily=fonts())
        axes.set_ylim(len(shown) - 0.5, -0.6)
        axes.set_xlim(-0.7, length - 0.3)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("round" + (" of the cycle" if plan.repeats else ""))
        axes.grid(False)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.spines["left"].set_visible(False)
        inches = axes.bbox.width / axes.figure.dpi
        told = headline(plan).replace(" per round", "\N{NO-BREAK SPACE}per\N{NO-BREAK SPACE}round")
        title = fill(told, max(24, int(inches * LETTERS)))
        axes.set_title(title, fontsize=10, pad=18)
        axes.annotate(
            *(note, (0, 1), (0, 4), "axes fraction", "offset points"), fontsize=8, color=MUTED
        )
    return axes


def _shown(plan: Plan, n_arms: int) -> list[int]:
    """Return the arms to draw: all, or of many those that are played, up to as many as fit."""
    if n_arms <= LANES:
        return list(range(n_arms))
    return sorted({arm for arms in plan.rounds for arm in arms})[:LANES] or list(range(LANES))


def _lane(axes: Axes, plan: Plan, arm: int, lane: int, offers: object) -> None:
    """Draw one arm: a box per play, a step line of its offers, the pay where there is room."""
    import numpy as np

    height = 0.8
    level = np.asarray(offers)
    rounds = np.arange(len(level))
    floor = lane + height / 2
    hue = colour(arm)
    axes.axhline(floor, color=MUTED, linewidth=0.5, zorder=1)
    edges = np.arange(len(level) + 1) - 0.5
    axes.stairs(floor - height * level, edges, baseline=floor, fill=True, color=hue, alpha=0.13)
    axes.stairs(floor - height * level, edges, baseline=None, color=hue, linewidth=1.0, alpha=0.7)
    played = np.array([arm in arms for arms in plan.rounds])
    axes.bar(rounds[played], -height, 0.86, bottom=floor, color=hue, alpha=0.35, zorder=2)
    axes.bar(rounds[played], -height * level[played], 0.86, bottom=floor, color=hue, zorder=3)


def _rows(plan: Plan) -> list[str]:
    """Return the schedule as aligned rows, each beginning with the rounds it covers."""
    words = [" + ".join(plan.names[arm] for arm in arms) or SILENT for arms in plan.rounds]
    width = min(max(map(len, words)), 20 * max(1, max(map(len, plan.rounds))))
    length = len(plan.rounds)
    label = 2 * len(str(length - 1)) + 1
    per_row = max(1, min(ROW, (LINE - label - 2) // (width + 2)))
    rows = {}
    for begin in range(0, length, per_row):
        some = words[begin : begin + per_row]
        rounds = f"{begin}-{begin + len(some) - 1}" if len(some) > 1 else f"{begin}"
        rows[rounds] = "  ".join(f"{_short(word, width):{width}}" for word in some)
    label = max(map(len, rows))
    return [f"  {rounds:>{label}}  {names}".rstrip() for rounds, names in rows.items()]


def _runs(slots: list[int], length: int, cycle: bool) -> list[tuple[int, int]]:
    """Return the (start, size) of each run of consecutive slots, around the end in a cycle."""
    runs: list[tuple[int, int]] = []
    for slot in slots:
        if runs and sum(runs[-1]) == slot:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((slot, 1))
    if cycle and len(runs) > 1 and runs[0][0] == 0 and sum(runs[-1]) == length:
        start, size = runs.pop()
        runs[0] = (start - length, size + runs[0][1])
    return runs


def _short(name: str, width: int) -> str:
    """Return ``name`` cut to ``width`` characters."""
    return name if len(name) <= width else name[: width - 1] + "…"


def _count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
