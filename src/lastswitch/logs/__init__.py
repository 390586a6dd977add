"""From an event log to curves, tests, a rotation and what it would gain."""

from __future__ import annotations

from lastswitch.logs.armfit import ArmFit
from lastswitch.logs.current import EventLog, current_states
from lastswitch.logs.curvefit import CurveFit
from lastswitch.logs.estimates import Estimate
from lastswitch.logs.fitting import fit_curves
from lastswitch.logs.gains import Gain, predicted_gain
from lastswitch.logs.questions import Finding
from lastswitch.logs.replay import Replay, replay
from lastswitch.logs.saving import find_fit, load_fit
from lastswitch.logs.simulate import simulate
from lastswitch.logs.summary import CAUTION, LogSummary
from lastswitch.logs.support import Support, support

__all__ = [
    "CAUTION",
    "ArmFit",
    "CurveFit",
    "Estimate",
    "EventLog",
    "Finding",
    "Gain",
    "LogSummary",
    "Replay",
    "Support",
    "current_states",
    "find_fit",
    "fit_curves",
    "load_fit",
    "predicted_gain",
    "replay",
    "simulate",
    "support",
]
