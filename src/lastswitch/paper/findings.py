"""What a reproduction found: numbers beside those of others, and sentences made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.intervals import standard_error
from lastswitch.experiments.comparison import Comparison
from lastswitch.experiments.tables import Column, Table
from lastswitch.paper.settings import (
    COMB,
    CS_BEST,
    CS_WORST,
    GREEDY,
    ISI,
    ROTATION,
    PaperExperiment,
)
from lastswitch.paper.table_1 import N_ARMS, Cell

#: The last share of the rounds, over which a policy's settled reward per round is taken.
SETTLED = 0.1
#: Totals this close, relatively, are called near.
NEAR = 0.1


@dataclass(frozen=True)
class Finding:
    """One policy on one instance: what the paper says, what its code gave, what came out here.

    Attributes
    ----------
    said, said_where
        Reward per round the paper says it settles at, and where.
    settled
        Mean reward per round over the last tenth of the rounds here.
    code, code_error, code_horizon
        Total of the authors' code, one standard error, and its number of rounds.
    here, here_error
        Our total over the same number of rounds, and one standard error.
    total, total_half, share, share_half, regret, regret_half
        Over all rounds, with 95 % confidence half widths.
    totals
        The total of each run.

    Examples
    --------
    >>> row = Finding("Five arms", "greedy", None, "", 0.15, 778, 5, 5112, 774, 7, 774, 15,
    ...               0.3, 0.0, 1812, 0.0, (774.0,))
    >>> f"{row.difference:+.1%}"
    '-0.5%'
    """

    experiment: str
    policy: str
    said: float | None
    said_where: str
    settled: float
    code: float | None
    code_error: float | None
    code_horizon: int | None
    here: float
    here_error: float
    total: float
    total_half: float
    share: float
    share_half: float
    regret: float
    regret_half: float
    totals: tuple[float, ...]

    @property
    def difference(self) -> float | None:
        """How far our total is from that of the authors' code, relatively."""
        return None if self.code is None else self.here / self.code - 1


def findings(
    parts: Mapping[str, PaperExperiment], found: Mapping[str, Comparison]
) -> list[Finding]:
    """Return one finding per instance and policy, in the order they were run.

    Examples
    --------
    >>> findings({}, {})
    []
    """
    return [
        _finding(part, found[key], policy)
        for key, part in parts.items()
        for policy in found[key].policies
    ]


def _finding(part: PaperExperiment, found: Comparison, policy: str) -> Finding:
    code = part.code.get(policy)
    if code is not None and code.horizon > found.horizon:
        code = None  # too short a run to compare
    said, where = part.limits.get(policy, (None, ""))
    here = total_at(found, policy, code.horizon if code else found.horizon)
    total, share, regret = found.total(policy), found.share(policy), found.regret(policy)
    return Finding(
        part.title,
        policy,
        said,
        where,
        settled(found, policy),
        code.total if code else None,
        code.error if code else None,
        code.horizon if code else None,
        float(here.mean()),
        float(standard_error(here)),
        float(total.mean),
        float(total.half),
        float(share.mean),
        float(share.half),
        float(regret.mean[-1]),
        float(regret.half[-1]),
        tuple(found.policies[policy].collected[:, -1].tolist()),
    )


def total_at(found: Comparison, policy: str, horizon: int) -> NDArray[np.float64]:
    """Return each run's reward up to round ``horizon``, between checkpoints by a straight line.

    Examples
    --------
    >>> import lastswitch as ls
    >>> turns = {"turns": lambda: ls.FixedCycle([0, 1])}
    >>> sure = ls.Bandit([([1.0], [0.0]), ([1.0], [0.0])], noise="none")
    >>> total_at(ls.compare(sure, turns, 100, 2, n_jobs=1, progress=False), "turns", 40).tolist()
    [40.0, 40.0]
    """
    rounds = np.append(0, found.rounds)
    runs = found.policies[policy].collected
    return np.array([np.interp(horizon, rounds, np.append(0.0, run)) for run in runs])


def settled(found: Comparison, policy: str) -> float:
    """Return the mean expected reward per round over the last rounds.

    Examples
    --------
    >>> import lastswitch as ls
    >>> turns = {"turns": lambda: ls.FixedCycle([0, 1])}
    >>> sure = ls.Bandit([([1.0], [0.0]), ([1.0], [0.0])], noise="none")
    >>> settled(ls.compare(sure, turns, 100, 2, n_jobs=1, progress=False), "turns")
    1.0
    """
    rounds, curve = found.rounds, found.expected(policy).mean
    start = int(np.searchsorted(rounds, (1 - SETTLED) * found.horizon))
    start = min(start, len(rounds) - 2) if len(rounds) > 1 else 0
    return float((curve[-1] - curve[start]) / max(rounds[-1] - rounds[start], 1))


def findings_table(rows: Sequence[Finding]) -> Table:
    """Return paper, authors' code and this library side by side.

    Examples
    --------
    >>> [column.title for column in findings_table([]).shown][:2]
    ['Instance', 'Policy']
    """
    columns = [
        Column("experiment", "Instance"),
        Column("policy", "Policy"),
        Column("said", "Paper, per round", ".3f"),
        Column("settled", "Here, last tenth", ".3f"),
        Column("code", "Authors' code, total", "s"),
        Column("here", "Here, same rounds", "s"),
        Column("difference", "Difference", "+.1%"),
        Column("share", "Share of optimum", "s"),
        Column("regret", "Regret", ",.0f"),
    ]
    cells = [
        [
            row.experiment,
            row.policy,
            row.said,
            row.settled,
            _with_error(row.code, row.code_error, row.code_horizon),
            _with_error(row.here, row.here_error, None),
            row.difference,
            f"{row.share:.1%}" + _half(100 * row.share_half, ".1f"),
            row.regret,
        ]
        for row in rows
    ]
    return Table(columns, cells)


def table_1_table(cells: Sequence[Cell]) -> Table:
    """Return Table 1 with what was measured beside each bound.

    Examples
    --------
    >>> print(table_1_table([Cell("arbitrary", "constant", "K", 2, 2.0, 2.0, 1.0)]).to_csv())
    rest,streak,printed,length,bound,searched,made,says
    arbitrary,constant,K,2,2.0,2.0,1.0,attained
    <BLANKLINE>
    """
    columns = [
        Column("rest", "At rest"),
        Column("streak", "Along a streak"),
        Column("printed", "Bound"),
        Column("length", "Length d", "d"),
        Column("bound", f"Bound, K = {N_ARMS}", ".0f"),
        Column("searched", "Worst at random", ".1f"),
        Column("made", "Made to be bad", ".1f"),
        Column("says", "So"),
    ]
    return Table(columns, [[*_cell_row(cell)] for cell in cells])


def _cell_row(cell: Cell) -> list[str | int | float]:
    reached = cell.measured >= cell.bound - 1e-9
    verdict = "attained" if reached else "holds, not attained"
    if cell.vacuous:
        verdict = "vacuous: everything can be lost" if reached else "vacuous"
    values = (cell.printed, cell.length, cell.bound, cell.searched, cell.made)
    return [cell.rest, cell.streak, *values, verdict]


def conclusions(rows: Sequence[Finding], cells: Sequence[Cell]) -> list[str]:
    """Return what the numbers say, in plain words; nothing here is written in advance."""
    by = {(row.experiment, row.policy): row for row in rows}
    five = {row.policy: row for row in rows if row.experiment == "Five arms"}
    two = {row.policy: row for row in rows if row.experiment == "Two arms"}
    ours = [row for row in rows if row.policy == ROTATION]
    paper = [by["Five arms", ISI], by["Two arms", ISI]]
    return [
        *_on_five(five),
        *_on_two(two),
        *_on_ours(ours, paper),
        *_on_code(rows),
        *_on_table_1(cells),
    ]


def _on_five(five: Mapping[str, Finding]) -> list[str]:
    isi, comb, greedy = five[ISI], five[COMB], five[GREEDY]
    wins = isi.total > max(comb.total, greedy.total)
    first = (
        f"On the five arms ISI-CombUCB1 collects {isi.total / comb.total:.2f} times as much as "
        f"CombUCB1 and {isi.total / greedy.total:.2f} times as much as OracleGreedy"
        f"{': calibration pays, as the paper says' if wins else ', unlike in the paper'}."
    )
    lucky = [total for total in comb.totals if total > isi.total]
    others = [total for total in comb.totals if total <= isi.total]
    if lucky and others:
        first += (
            f" CombUCB1 is of two minds: in {len(lucky)} of {len(comb.totals)} runs it happens on "
            f"the spike of the first arm and collects {np.mean(lucky):,.0f}, more than "
            f"ISI-CombUCB1; in the others it never sees it and collects {np.mean(others):,.0f}."
        )
    best, worst = five[CS_BEST], five[CS_WORST]
    between = isi.total > best.total > worst.total
    second = (
        f"Calibration sequences stand {'below it' if between else 'elsewhere than in the paper'}: "
        f"CS-best collects {best.total:,.0f}, CS-worst {worst.total:,.0f}, ISI-CombUCB1 "
        f"{isi.total:,.0f}."
    )
    third = (
        f"OracleGreedy settles at {greedy.settled:.3f} per round. The paper's text would make it "
        f"{greedy.said:.3f}; but by its printed curves the second arm pays slightly more than "
        "the constant arms already at delay six, so greed takes it then."
    )
    return [first, second, third]


def _on_two(two: Mapping[str, Finding]) -> list[str]:
    isi, comb, greedy = two[ISI], two[COMB], two[GREEDY]
    return [
        f"On the two arms OracleGreedy stays at {greedy.settled:.2f} per round while CombUCB1 "
        f"settles at {comb.settled:.2f} and ISI-CombUCB1 at {isi.settled:.2f}: "
        + (
            "the calibration pull costs a little where nothing needed calibrating."
            if comb.settled > isi.settled > greedy.settled
            else "not the order the paper reports."
        )
    ]


def _on_ours(ours: Sequence[Finding], paper: Sequence[Finding]) -> list[str]:
    pairs = [
        f"{row.share:.1%} of the optimum's reward on the {row.experiment.lower()}, where "
        f"ISI-CombUCB1 earns {theirs.share:.1%} and regrets "
        f"{theirs.regret / max(row.regret, 1e-9):.0f} times as much"
        for row, theirs in zip(ours, paper, strict=True)
    ]
    return [f"RotationUCB earns {'; and '.join(pairs)}."]


def _on_code(rows: Sequence[Finding]) -> list[str]:
    compared = [row for row in rows if row.difference is not None]
    if not compared:
        return ["The runs are shorter than those of the authors' code: nothing to compare."]
    far = max(compared, key=lambda row: abs(row.difference or 0.0))
    near = sum(abs(row.difference or 0.0) <= NEAR for row in compared)
    return [
        f"{near} of {len(compared)} totals are within {NEAR:.0%} of what the authors' published "
        f"code collects; the farthest, {far.policy} on the {far.experiment.lower()}, is "
        f"{far.difference:+.1%} off. That code differs from the printed algorithm in the "
        "logarithm's argument, the first bound of an unseen state, and which bounds are refreshed."
    ]


def _on_table_1(cells: Sequence[Cell]) -> list[str]:
    broken = [cell for cell in cells if cell.measured > cell.bound + 1e-9]
    attained = sum(cell.measured >= cell.bound - 1e-9 for cell in cells if not cell.vacuous)
    void = sum(cell.measured >= cell.bound - 1e-9 for cell in cells if cell.vacuous)
    if broken:
        where = "; ".join(f"{cell.rest} at rest, {cell.streak} along a streak" for cell in broken)
        return [f"Table 1 is contradicted: a larger loss than its bound was measured for {where}."]
    return [
        f"No loss measured for Table 1 exceeds its bound. {attained} of the 4 bounds that say "
        f"something are attained exactly; in {void} of the 2 vacuous cells a whole block was lost."
    ]


def summary(
    parts: Mapping[str, PaperExperiment],
    found: Mapping[str, Comparison],
    rows: Sequence[Finding],
    cells: Sequence[Cell],
) -> dict[str, Any]:
    """Return everything a program would want to know, as JSON."""
    return {
        "format": "lastswitch-reproduction",
        "version": 1,
        "experiments": {
            key: {
                "title": part.title,
                "horizon": found[key].horizon,
                "paper_horizon": part.horizon,
                "runs": part.experiment.runs,
                "seed": found[key].seed,
                "optimum": {"total": found[key].optimum.value, "exact": found[key].optimum.optimal},
                "provenance": found[key].provenance,
            }
            for key, part in parts.items()
        },
        "findings": [{**asdict(row), "difference": row.difference} for row in rows],
        "table_1": [{**cell._asdict(), "measured": cell.measured} for cell in cells],
        "conclusions": conclusions(rows, cells),
    }


def _with_error(value: float | None, error: float | None, horizon: int | None) -> str:
    if value is None:
        return "–"
    rounds = f" (T = {horizon:,})" if horizon else ""
    return f"{value:,.0f}{_half(error, '.0f')}{rounds}"


def _half(error: float | None, style: str) -> str:
    return "" if error is None or np.isnan(error) else f" ± {error:{style}}"
