"""From estimates to decisions: policies that are asked for a pull and told its reward.

Names load on use: playing a fixed cycle does not pay for the planner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.learning.paper.anytime import Anytime as Anytime
    from lastswitch.learning.baselines import (
        RAWUCB as RAWUCB,
        UCB1 as UCB1,
        BlockingGreedy as BlockingGreedy,
        BlockingUCB as BlockingUCB,
        ExploreThenCommit as ExploreThenCommit,
        FrequencyPolicy as FrequencyPolicy,
        Lookahead as Lookahead,
        PeriodicUCB as PeriodicUCB,
        PurelyPeriodic as PurelyPeriodic,
        RankingElimination as RankingElimination,
        RankingPolicy as RankingPolicy,
        ThompsonSampling as ThompsonSampling,
    )
    from lastswitch.learning.paper.combucb import (
        CalibratedCombUCB1 as CalibratedCombUCB1,
        CombUCB1 as CombUCB1,
        DoublePlayCombUCB1 as DoublePlayCombUCB1,
        ISICombUCB1 as ISICombUCB1,
    )
    from lastswitch.learning.estimates import Estimates as Estimates
    from lastswitch.learning.policy import Policy as Policy, Pull as Pull, Track as Track
    from lastswitch.learning.policy.saving import load_policy as load_policy
    from lastswitch.learning.rotation.prior import Prior as Prior
    from lastswitch.learning.rotation.ucb import (
        RotationUCB as RotationUCB,
        RuledRotationUCB as RuledRotationUCB,
    )
    from lastswitch.learning.simple import FixedCycle as FixedCycle, OracleGreedy as OracleGreedy
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "paper.anytime": ["Anytime"],
            "baselines": [
                "RAWUCB",
                "UCB1",
                "BlockingGreedy",
                "BlockingUCB",
                "ExploreThenCommit",
                "FrequencyPolicy",
                "Lookahead",
                "PeriodicUCB",
                "PurelyPeriodic",
                "RankingElimination",
                "RankingPolicy",
                "ThompsonSampling",
            ],
            "paper.combucb": [
                "CalibratedCombUCB1",
                "CombUCB1",
                "DoublePlayCombUCB1",
                "ISICombUCB1",
            ],
            "estimates": ["Estimates"],
            "policy": ["Policy", "Pull", "Track"],
            "policy.saving": ["load_policy"],
            "rotation.prior": ["Prior"],
            "rotation.ucb": ["RotationUCB", "RuledRotationUCB"],
            "simple": ["FixedCycle", "OracleGreedy"],
        },
    )
