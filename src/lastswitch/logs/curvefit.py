"""Curves fitted to a log: what :func:`~lastswitch.logs.fit_curves` returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lastswitch._utils.ascii import printable
from lastswitch._utils.listing import counted
from lastswitch.logs.armfit import ArmFit, FitRules, fit_arm
from lastswitch.logs.counts import Counts
from lastswitch.logs.questions import Answers, answer_questions
from lastswitch.logs.summary import CAUTION, LogSummary
from lastswitch.model.bandit import Bandit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lastswitch.learning.rotation.prior import Prior


@dataclass(frozen=True)
class CurveFit:
    """Curves fitted to a log, with what they rest on.

    Examples
    --------
    >>> from lastswitch.logs import fit_curves, simulate
    >>> truth = Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])], names=["jazz", "talk"])
    >>> fit = fit_curves(simulate(truth, subjects=200, rounds=50, seed=1))
    >>> fit.bandit.names, round(fit.bandit.mean(0, 2), 1)
    (('jazz', 'talk'), 0.8)
    """

    arms: tuple[ArmFit, ...]
    counts: Counts
    summary: LogSummary
    rules: FitRules

    @cached_property
    def bandit(self) -> Bandit:
        """The fitted curves as a bandit, for planning. Arms start in the longest rest known.

        States the log does not know pay their lower bound, so that plans keep away from them.
        """
        noise, sigma = ("bernoulli", 0.1) if self.binary else ("gaussian", self._residual())
        return Bandit(
            [arm.curve for arm in self.arms],
            noise=noise if sigma > 0 else "none",  # type: ignore[arg-type]
            names=self.counts.names,
            initial=[max(arm.known_rest, 1) for arm in self.arms],
            sigma=sigma,
        )

    @cached_property
    def binary(self) -> bool:
        """Whether every reward counted was 0 or 1."""
        return is_binary(self.counts)

    @cached_property
    def findings(self) -> tuple[Answers, ...]:
        """Whether each arm wears out, whether it recovers, and whether it has a period."""
        return answer_questions(self)

    @property
    def log_mean(self) -> float:
        """What the log earned per play."""
        return float(self.counts.total.sum() / self.counts.events.sum())

    def prior(self) -> Prior:
        """Return what the log saw as a warm start: ``RotationUCB(n_arms, prior=fit)``.

        Counts and sums of rewards by arm and state; first plays are in none.

        Examples
        --------
        >>> from lastswitch.logs import fit_curves, simulate
        >>> truth = Bandit([([0.2, 0.8], [0.1]), ([0.4], [0.4])])
        >>> prior = fit_curves(simulate(truth, subjects=20, rounds=50, seed=1)).prior()
        >>> prior.rest_counts.shape == prior.rest_sums.shape, prior.streak_counts.shape[0]
        (True, 2)
        """
        from lastswitch.learning.rotation.prior import Prior

        events, total, _ = self.counts.pooled
        rests = slice(1, 1 + self.counts.rest)
        runs = slice(1 + self.counts.rest, None)
        return Prior(events[:, rests], total[:, rests], events[:, runs], total[:, runs])

    def plot(self, arm: int | str) -> Figure:
        """Draw one arm, by number or by name: the curve, what was seen, and how much."""
        from lastswitch.logs.figures import draw_arm

        bandit = self.bandit
        number = bandit.index(arm) if isinstance(arm, str) else bandit.check_arm(arm)
        return draw_arm(self, number)

    def write(self, path: str | PathLike[str]) -> list[Path]:
        """Write the bandit to ``path`` (``.toml``) and the fit, a table, a page, figures beside."""
        from lastswitch.logs.outputs import write_outputs

        return write_outputs(self, path)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fit to one file; :func:`lastswitch.load_fit` gives it back."""
        from lastswitch.logs.saving import save_fit

        return save_fit(self, path)

    def __str__(self) -> str:
        """Return what was found, in words."""
        lines = [
            f"{counted(self.summary.plays, 'play')} of {counted(len(self.arms), 'arm')} by "
            f"{counted(self.summary.subjects, 'subject')}, mean reward {self.log_mean:.4f}",
            *self.summary.notices,
        ]
        for arm, findings in zip(self.arms, self.findings, strict=True):
            lines += [arm.name, *(f"  {found}" for found in findings)]
        return printable("\n".join([*lines, CAUTION]))

    @cached_property
    def digest(self) -> str:
        """The digest of the fitted bandit: the name by which its file finds this fit."""
        from lastswitch.logs.saving import bandit_digest

        return bandit_digest(self.bandit)

    def _residual(self) -> float:
        """Return the standard deviation of rewards around the mean of their state."""
        events, total, squares = self.counts.pooled
        inside = squares - np.divide(total**2, events, out=np.zeros_like(total), where=events > 0)
        return float(np.sqrt(max(inside.sum(), 0.0) / events.sum()))


def fit_counts(counts: Counts, summary: LogSummary, rules: FitRules) -> CurveFit:
    """Fit curves to counts already made."""
    binary = is_binary(counts)
    arms = tuple(fit_arm(counts, arm, rules, binary) for arm in range(counts.n_arms))
    return CurveFit(arms, counts, summary, rules)


def is_binary(counts: Counts) -> bool:
    """Say whether every reward was 0 or 1: then, and only then, squares sum to the same."""
    return bool(np.allclose(counts.squares, counts.total, rtol=0, atol=1e-9))
