"""From estimates to decisions: policies that are asked for a pull and told its reward."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lastswitch.learning.anytime import Anytime
from lastswitch.learning.combucb import (
    CalibratedCombUCB1,
    CombUCB1,
    DoublePlayCombUCB1,
    ISICombUCB1,
)
from lastswitch.learning.estimates import Estimates
from lastswitch.learning.policy import Policy, Pull
from lastswitch.learning.saving import load_policy
from lastswitch.learning.simple import FixedCycle, OracleGreedy
from lastswitch.learning.tracks import Track

if TYPE_CHECKING:
    from lastswitch.learning.baselines import (
        RAWUCB,
        UCB1,
        BlockingGreedy,
        BlockingUCB,
        ExploreThenCommit,
        FrequencyPolicy,
        Lookahead,
        ThompsonSampling,
    )
    from lastswitch.learning.rotation import RotationUCB
    from lastswitch.learning.rotation_prior import Prior

#: Names that load on use, and the module each lives in.
_LAZY = {
    "RotationUCB": "lastswitch.learning.rotation",
    "Prior": "lastswitch.learning.rotation_prior",
    **dict.fromkeys(
        [
            "RAWUCB",
            "UCB1",
            "BlockingGreedy",
            "BlockingUCB",
            "ExploreThenCommit",
            "FrequencyPolicy",
            "Lookahead",
            "ThompsonSampling",
        ],
        "lastswitch.learning.baselines",
    ),
}

__all__ = [
    "RAWUCB",
    "UCB1",
    "Anytime",
    "BlockingGreedy",
    "BlockingUCB",
    "CalibratedCombUCB1",
    "CombUCB1",
    "DoublePlayCombUCB1",
    "Estimates",
    "ExploreThenCommit",
    "FixedCycle",
    "FrequencyPolicy",
    "ISICombUCB1",
    "Lookahead",
    "OracleGreedy",
    "Policy",
    "Prior",
    "Pull",
    "RotationUCB",
    "ThompsonSampling",
    "Track",
    "load_policy",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'lastswitch.learning' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
