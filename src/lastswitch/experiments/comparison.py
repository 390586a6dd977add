"""What a comparison found: :class:`Comparison`, its statistics, table, figure and file."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import check_path, check_whole
from lastswitch._utils.codec import (
    array_digest,
    parse_json,
    read_arrays,
    rebuilding,
    stamp,
    to_text,
    typed,
    unstamp,
)
from lastswitch._utils.intervals import STATED, Interval, t_interval
from lastswitch._utils.suggest import suggestion
from lastswitch.errors import ExperimentError, FileError
from lastswitch.experiments.run import by_state
from lastswitch.experiments.tables import Column, Table
from lastswitch.experiments.tasks import Outcome, checkpoints
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import bandit_from_dict, bandit_to_dict
from lastswitch.planning.certificate import Certificate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERSION = 2


@dataclass(frozen=True, eq=False)
class PolicyRuns:
    """All runs of one policy, one row per run.

    Attributes
    ----------
    runs
        The numbers of the runs.
    collected, expected
        Reward collected, and expected, up to each checkpoint.
    switches
        How often the arm changed.
    plays
        Plays of each arm.
    visits
        Three rows over all runs: arm, tau, and how often that arm was played in that state.

    Examples
    --------
    >>> visits = np.array([[0, 1], [1, 1], [1, 1]])
    >>> one = Outcome(np.ones(2), np.ones(2), 1, np.array([1, 1]), visits)
    >>> runs = PolicyRuns.gather({0: one, 1: one})
    >>> runs.collected.shape, runs.visits.tolist()
    ((2, 2), [[0, 1], [1, 1], [2, 2]])
    """

    runs: NDArray[np.int64]
    collected: NDArray[np.float64]
    expected: NDArray[np.float64]
    switches: NDArray[np.int64]
    plays: NDArray[np.int64]
    visits: NDArray[np.int64]

    @classmethod
    def gather(cls, outcomes: Mapping[int, Outcome]) -> PolicyRuns:
        """Stack the outcomes of a policy's runs, in the order of the runs."""
        runs = sorted(outcomes)
        ordered = [outcomes[run] for run in runs]
        visits = np.concatenate([outcome.visits for outcome in ordered], axis=1)
        states, where = np.unique(visits[:2], axis=1, return_inverse=True)
        counts = np.zeros(states.shape[1], dtype=np.int64)
        np.add.at(counts, where.ravel(), visits[2])
        return cls(
            runs=np.array(runs, dtype=np.int64),
            collected=np.array([outcome.collected for outcome in ordered]),
            expected=np.array([outcome.expected for outcome in ordered]),
            switches=np.array([outcome.switches for outcome in ordered], dtype=np.int64),
            plays=np.array([outcome.plays for outcome in ordered], dtype=np.int64),
            visits=np.vstack([states, counts[None, :]]),
        )


@dataclass(frozen=True, eq=False)
class Comparator(Certificate):
    """The optimum that regret is measured against, over all subjects.

    Attributes
    ----------
    value
        Its expected reward; the best possible if it is ``optimal``.
    bound
        No policy can expect more.
    curve
        Its expected reward up to each checkpoint.

    Examples
    --------
    >>> Comparator(value=2.0, bound=2.0, curve=np.array([1.0, 2.0])).optimal
    True
    """

    value: float
    bound: float
    curve: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._certify()


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several policies on one bandit, each run several times.

    Made by :func:`~lastswitch.compare`. Every interval is the mean and pointwise 95 % Student t
    interval over independent runs.

    Attributes
    ----------
    bandit, horizon, subjects, seed
        What was run.
    policies
        What each policy did, by name.
    optimum
        What the best schedule would expect.
    provenance
        Versions, seed, instance and policies, for whoever reads this later.

    Examples
    --------
    >>> import lastswitch as ls
    >>> bandit = ls.instances.two_arms()
    >>> cycles = {"alternate": lambda: ls.FixedCycle([0, 1], initial=-1),
    ...           "first arm": lambda: ls.FixedCycle([0], 2, initial=-1)}
    >>> found = ls.compare(bandit, cycles, horizon=100, runs=3, n_jobs=1, progress=False)
    >>> print(f"{found.share('alternate').mean:.2f} of the optimum")
    0.98 of the optimum
    """

    bandit: Bandit
    horizon: int
    subjects: int
    seed: int
    policies: Mapping[str, PolicyRuns]
    optimum: Comparator
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The rounds at which curves are known."""
        return checkpoints(self.horizon)

    @property
    def plays(self) -> int:
        """Plays in each run: rounds times subjects."""
        return self.horizon * self.subjects

    def runs(self, name: str) -> PolicyRuns:
        """Return all runs of one policy."""
        if not (isinstance(name, str) and name in self.policies):
            raise ExperimentError(
                f"no policy is called {name!r}{suggestion(name, self.policies)}; "
                f"there are {', '.join(self.policies)}."
            )
        return self.policies[name]

    def reward(self, name: str) -> Interval:
        """Return the cumulative reward collected, by checkpoint."""
        return t_interval(self.runs(name).collected)

    def expected(self, name: str) -> Interval:
        """Return the cumulative reward expected of what was played, by checkpoint."""
        return t_interval(self.runs(name).expected)

    def total(self, name: str) -> Interval:
        """Return the total reward collected."""
        return t_interval(self.runs(name).collected[:, -1])

    def per_round(self, name: str) -> Interval:
        """Return the reward collected per play."""
        return t_interval(self.runs(name).collected[:, -1] / self.plays)

    def share(self, name: str) -> Interval:
        """Return the share of the optimum: reward expected over what the best schedule expects.

        Where nothing can be earned, whatever is played is all of it.
        """
        earned, best = self.runs(name).expected[:, -1], self.optimum.value
        return t_interval(earned / best if best > 0 else np.ones_like(earned))

    def regret(self, name: str) -> Interval:
        """Return the cumulative (pseudo-)regret against the optimal sequence, by checkpoint.

        If the optimum is not exact this is regret against the best schedule found; see
        ``optimum.bound`` for how much more there could be.
        """
        return t_interval(self.optimum.curve - self.runs(name).expected)

    def switches(self, name: str) -> Interval:
        """Return how often the arm changed."""
        return t_interval(self.runs(name).switches)

    def arm_plays(self, name: str) -> Interval:
        """Return the plays of each arm."""
        return t_interval(self.runs(name).plays)

    def states(self, name: str) -> dict[tuple[int, int], float]:
        """Return mean plays per run of each ``(arm, tau)``, most played first."""
        runs = self.runs(name)
        return {state: n / len(runs.runs) for state, n in by_state(runs.visits).items()}

    def table(self) -> Table:
        """Return one row per policy, best first: reward, share of the optimum, regret, switches.

        Print it, or use ``to_markdown()``, ``to_csv(path)`` and ``to_parquet(path)``; the files
        also hold the number of runs, the states visited and the plays of each arm.
        """
        columns = [
            Column("policy", "Policy"),
            Column("runs"),
            Column("total", "Total", ",.0f", half="total_half"),
            Column("total_half"),
            Column("per_round", "Per round", ".4f"),
            Column("share", "Of optimum", ".1%", half="share_half"),
            Column("share_half"),
            Column("regret", "Regret", ",.0f", half="regret_half"),
            Column("regret_half"),
            Column("switches", "Switches", ",.0f"),
            Column("states"),
            *(Column(f"plays_{arm}") for arm in range(self.bandit.n_arms)),
        ]
        ranked = sorted(self.policies, key=lambda name: -float(self.share(name).mean))
        kind = "The optimum" if self.optimum.optimal else "The best schedule found"
        bound = "" if self.optimum.optimal else f" (nothing exceeds {self.optimum.bound:,.1f})"
        return Table(
            columns,
            [self._row(name) for name in ranked],
            title=f"{self.bandit.n_arms} arms, {self.horizon:,} rounds, {self._counts()}",
            note=f"{kind} expects {self.optimum.value:,.1f}{bound}. After ±: {STATED}.",
        )

    def _counts(self) -> str:
        counts = sorted({len(runs.runs) for runs in self.policies.values()})
        return f"{' to '.join(map(str, counts[:: max(len(counts) - 1, 1)]))} runs each"

    def _row(self, name: str) -> list[str | int | float]:
        total, share, regret = self.total(name), self.share(name), self.regret(name)
        return [
            name,
            len(self.runs(name).runs),
            float(total.mean),
            float(total.half),
            float(self.per_round(name).mean),
            float(share.mean),
            float(share.half),
            float(regret.mean[-1]),
            float(regret.half[-1]),
            float(self.switches(name).mean),
            float(self.runs(name).visits.shape[1]),
            *self.arm_plays(name).mean.tolist(),
        ]

    def plot(
        self,
        what: str = "reward",
        policies: Sequence[str] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw ``"reward"``, ``"regret"`` or ``"average"`` over the rounds, with bands.

        Into ``ax`` where axes are given; they are returned.
        """
        from lastswitch.experiments.plots import draw_comparison

        return draw_comparison(self, what, policies, ax=ax)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to one ``.npz`` file; the same comparison gives the same bytes.

        :func:`~lastswitch.load_comparison` reads it.
        """
        arrays: dict[str, Any] = {"optimum": self.optimum.curve}
        for number, runs in enumerate(self.policies.values()):
            arrays |= {f"{number}/{part}": value for part, value in vars(runs).items()}
        head = {
            "bandit": bandit_to_dict(self.bandit),
            "horizon": self.horizon,
            "subjects": self.subjects,
            "seed": self.seed,
            "policies": list(self.policies),
            "optimum": [self.optimum.value, self.optimum.bound],
            "provenance": self.provenance,
            "arrays": array_digest(arrays),
        }
        text = to_text(stamp("comparison", VERSION, head)).encode()
        content = io.BytesIO()
        np.savez_compressed(content, head=np.frombuffer(text, dtype=np.uint8), **arrays)
        return write_atomic(path, content.getvalue())

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.policies)}; {self.horizon} rounds)"


def load_comparison(path: str | os.PathLike[str]) -> Comparison:
    """Read what :meth:`Comparison.save` wrote.

    Examples
    --------
    >>> import tempfile
    >>> import lastswitch as ls
    >>> cycle = {"alternate": lambda: ls.FixedCycle([0, 1], initial=-1)}
    >>> found = ls.compare(ls.instances.two_arms(), cycle, 20, 2, n_jobs=1, progress=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_comparison(found.save(f"{folder}/found.npz"))
    Comparison(alternate; 20 rounds)
    """
    file = check_path(path)
    arrays = read_arrays(file, "comparison")
    with rebuilding(str(file)):
        text = arrays.pop("head").tobytes().decode()
        head = unstamp(parse_json(text, str(file)), "comparison", VERSION, str(file))
        if head.get("arrays") != array_digest(arrays):
            raise FileError(f"{file} is damaged: its numbers do not match their digest.")
        return _rebuilt(head, arrays, str(file))


def _rebuilt(head: Mapping[str, Any], arrays: Mapping[str, Any], where: str) -> Comparison:
    """Return the comparison of a file's head and arrays, whose shapes must go together."""
    sizes = {
        name: check_whole(name, head[name], least, ExperimentError, most=2**62)
        for name, least in (("horizon", 1), ("subjects", 1), ("seed", 0))
    }
    bandit = bandit_from_dict(head["bandit"], source=where)
    names = typed(tuple[str, ...], head["policies"], "'policies'")
    value, bound = typed(tuple[float, float], head["optimum"], "'optimum'")
    points = len(checkpoints(sizes["horizon"]))
    policies = {
        name: _runs_of(number, arrays, points, bandit.n_arms) for number, name in enumerate(names)
    }
    optimum = Comparator(value, bound, _numbers(arrays["optimum"], (points,), np.float64))
    if len(policies) < len(names) or not isinstance(head["provenance"], Mapping):
        raise FileError(f"{where} is damaged: its policies or its provenance cannot be told.")
    return Comparison(
        bandit, **sizes, policies=policies, optimum=optimum, provenance=head["provenance"]
    )


def _runs_of(number: int, arrays: Mapping[str, Any], points: int, n_arms: int) -> PolicyRuns:
    parts = {part: arrays[f"{number}/{part}"] for part in PolicyRuns.__dataclass_fields__}
    runs, states = len(parts["runs"]), parts["visits"].shape[-1]
    shapes = {"collected": (runs, points), "plays": (runs, n_arms), "visits": (3, states)}
    shapes["expected"] = shapes["collected"]
    floats = ("collected", "expected")
    return PolicyRuns(
        **{
            part: _numbers(
                value, shapes.get(part, (runs,)), np.float64 if part in floats else np.int64
            )
            for part, value in parts.items()
        }
    )


def _numbers(value: NDArray[Any], shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    """Return an array of a file; it must be of this shape, finite and of this type."""
    if value.shape != shape or value.dtype != kind or not np.isfinite(value).all():
        raise FileError(f"an array of shape {shape} is {value.dtype} of shape {value.shape}.")
    return value
