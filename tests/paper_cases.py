"""Seeded instances and exact quantities the tests of the paper share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

import lastswitch as ls
from lastswitch.model.instances import random_bandit

SEEDS = range(8)
#: Rewards constant on the negatives, the paper's main text.
CONSTANT_STREAKS = ("uniform", "spike", "step", "monotone", "seasonal")
#: Streaks that wear out, the paper's appendix.
WEARING_STREAKS = ("satiating",)


@cache
def drawn(family: str, n_arms: int, depth: int, seed: int) -> ls.Bandit:
    """Return one seeded bandit (drawn once)."""
    return random_bandit(family, n_arms, depth, seed)


@cache
def optimum(bandit: ls.Bandit, horizon: int) -> tuple[float, tuple[int, ...]]:
    """Return the exact best average over ``horizon`` rounds and a sequence that earns it."""
    best = ls.optimal_total(bandit, horizon)
    assert best.optimal
    return best.value / horizon, best.block


def average(bandit: ls.Bandit, block: Sequence[int], horizon: int) -> float:
    """Return what repeating ``block`` from the bandit's start pays per round over ``horizon``."""
    turns = list(block) * (horizon // len(block))
    assert len(turns) == horizon
    return ls.block_reward(bandit, turns) / horizon


def best_window(bandit: ls.Bandit, sequence: Sequence[int], size: int) -> list[int]:
    """Return the paper's B*: the ``size`` consecutive rounds of ``sequence`` that pay most."""
    pays = ls.blocks.block_pays(bandit, sequence)
    sums = np.convolve(pays, np.ones(size), mode="valid")
    begin = int(np.argmax(sums))
    return list(sequence[begin : begin + size])


def every_block(n_arms: int, size: int) -> list[tuple[int, ...]]:
    """Return all blocks of ``size`` rounds."""
    return list(product(range(n_arms), repeat=size))
