"""From an event log to curves, tests, a rotation and what it would gain.

Names load on use: reading a saved fit does not pay for the engines that read logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.logs.armfit import ArmFit as ArmFit
    from lastswitch.logs.current import current_states as current_states
    from lastswitch.logs.curvefit import CurveFit as CurveFit
    from lastswitch.logs.estimates import Estimate as Estimate
    from lastswitch.logs.fitting import fit_curves as fit_curves
    from lastswitch.logs.predict import Gain as Gain, predicted_gain as predicted_gain
    from lastswitch.logs.questions import Finding as Finding
    from lastswitch.logs.reading import EventLog as EventLog
    from lastswitch.logs.replaying import Replay as Replay, replay as replay
    from lastswitch.logs.saving import find_fit as find_fit, load_fit as load_fit
    from lastswitch.logs.simulating import simulate as simulate
    from lastswitch.logs.summary import CAUTION as CAUTION, LogSummary as LogSummary
    from lastswitch.logs.cycles import Support as Support, support as support
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "armfit": ["ArmFit"],
            "current": ["current_states"],
            "curvefit": ["CurveFit"],
            "estimates": ["Estimate"],
            "fitting": ["fit_curves"],
            "predict": ["Gain", "predicted_gain"],
            "questions": ["Finding"],
            "reading": ["EventLog"],
            "replaying": ["Replay", "replay"],
            "saving": ["find_fit", "load_fit"],
            "simulating": ["simulate"],
            "summary": ["CAUTION", "LogSummary"],
            "cycles": ["Support", "support"],
        },
    )
