"""Policies from the neighbourhood, to compare with: each cites its paper and what it assumes."""

from lastswitch.learning.baselines.blocking import BlockingGreedy, BlockingUCB
from lastswitch.learning.baselines.frequency import ExploreThenCommit, FrequencyPolicy
from lastswitch.learning.baselines.lookahead import Lookahead
from lastswitch.learning.baselines.periodic import PeriodicUCB, PurelyPeriodic
from lastswitch.learning.baselines.ranking import RankingElimination, RankingPolicy
from lastswitch.learning.baselines.rotting import RAWUCB
from lastswitch.learning.baselines.stateless import UCB1, ThompsonSampling

__all__ = [
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
]
