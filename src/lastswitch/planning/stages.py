"""The kernels of a search, compiled or loaded by stage: no problem waits for what it does not need.

Each function works on the smallest example there is, and only once.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable

import numpy as np

from lastswitch._kernels import announce, compiling
from lastswitch.planning import products
from lastswitch.planning.automata import block_automata, plain_automata
from lastswitch.planning.beam import Beam
from lastswitch.planning.beam_kernel import advance
from lastswitch.planning.bundle import Bundle
from lastswitch.planning.charges import spared
from lastswitch.planning.fixing import fixed
from lastswitch.planning.machines import Machines, as_machines, compact
from lastswitch.planning.neighbourhood import Neighbourhoods
from lastswitch.planning.prices import Prices
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.tiny import solve_tiny, tiny_block

#: Two arms, two slots.
EXAMPLE = BlockProblem([[0.5]] * 2, [[0.1]] * 2, [[0.2, 0.3]] * 2)


def seconds_of(stage: Callable[[], None]) -> float:
    """Get a stage ready; return how long that took.

    Examples
    --------
    >>> ready_to_build()
    >>> seconds_of(ready_to_build) < 1.0  # once is enough
    True
    """
    began = time.perf_counter()
    stage()
    return time.perf_counter() - began


def _once(stage: Callable[[], None]) -> Callable[[], None]:
    """Return a stage that does something the first time only."""

    @functools.lru_cache(maxsize=1)
    @functools.wraps(stage)
    def ready() -> None:
        with compiling():
            stage()

    return ready


@_once
def ready_to_be_tiny() -> None:
    """Load the search that small blocks have of their own."""
    announce("planning", tiny_block)
    solve_tiny(plain_automata(EXAMPLE), 0.0)


@_once
def ready_to_build() -> None:
    """Load what makes automata of tables."""
    announce("planning", advance)
    block_automata(EXAMPLE)


@_once
def ready_to_hurry() -> None:
    """Load prices and beams, which prove most problems."""
    announce("planning", advance)
    prices = Prices(as_machines(block_automata(EXAMPLE)))
    _beam(prices).run(-math.inf, 1)


@_once
def ready_to_widen() -> None:
    """Load deletions, and all that is loaded before them."""
    ready_to_hurry()
    fixed(Prices(_machines()), -math.inf)


@_once
def ready_to_pair() -> None:
    """Load what takes machines together."""
    products.merged(Prices(_machines()), 0, 1, 1, -math.inf, (100, 100))


@_once
def ready_to_grow() -> None:
    """Load what only searches that are not over soon need."""
    prices = Bundle(_machines())
    prices.descend(0.0, 1)
    products.rivals(prices, None, 0.0, 100)
    spared(prices, 0.0, 0.0)
    automata = block_automata(EXAMPLE)
    price, claims = np.zeros(automata.length), np.zeros((automata.n_arms, automata.length))
    Neighbourhoods(automata).improved(np.array([0, 1]), price, claims, 0.0)


def _machines() -> Machines:
    """Return some machines, the smallest that all kernels can work on."""
    machines = compact(block_automata(EXAMPLE))
    assert machines is not None
    return machines


def _beam(prices: Prices) -> Beam:
    """Return a beam over the machines that are priced."""
    n = len(prices.machines.root)
    return Beam(prices.machines, np.arange(n), 1, prices.worth, prices.price)
