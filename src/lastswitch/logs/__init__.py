"""From an event log to curves, tests, a rotation and what it would gain."""

from __future__ import annotations

from lastswitch.logs.curvefit import CurveFit, fit_curves
from lastswitch.logs.simulate import simulate

__all__ = ["CurveFit", "fit_curves", "simulate"]
