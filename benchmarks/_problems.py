"""The planning problems every planning benchmark runs on."""

from __future__ import annotations

import numpy as np

from lastswitch._utils.random import stream
from lastswitch.model.families import random_bandit
from lastswitch.planning import BlockProblem

#: What a learner's tables look like half-way ("ucb"), and the shapes curves come in.
FAMILIES = ("uniform", "monotone", "ucb", "spike", "step", "seasonal", "satiating")


def problem(family: str, n_arms: int, length: int, seed: int) -> BlockProblem:
    """Return a calibrated block problem whose curves change up to the block's length."""
    if family != "ucb":
        bandit = random_bandit(family, n_arms, length, seed)
        return BlockProblem.from_bandit(bandit, length, "unknown")
    rng = stream(seed, "ucb", n_arms, length)
    shape = (n_arms, max(length - 1, 1))
    counts = rng.integers(1, 201, shape)
    index = rng.random(shape) + np.sqrt(1.5 * np.log(counts.sum()) / counts)
    return BlockProblem(
        index[:, 1:] if length > 2 else index, index[:, :1], np.zeros((n_arms, length))
    )
