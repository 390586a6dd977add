"""The kernels of a search, compiled or loaded by stage: no problem waits for what it does not need.

Each function works on the smallest example there is, and only once.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable

import numpy as np

from lastswitch._utils.jit import announce, compiling
from lastswitch.planning.diagrams.build import block_model, plain_model
from lastswitch.planning.diagrams.diagram import Diagram, Model
from lastswitch.planning.diagrams.minimise import compact
from lastswitch.planning.diagrams.sharing import joint
from lastswitch.planning.problem import BlockProblem
from lastswitch.planning.search import merge
from lastswitch.planning.search.beam import Beam
from lastswitch.planning.search.beam_kernel import advance
from lastswitch.planning.search.bundle import Bundle
from lastswitch.planning.search.neighbourhood import Neighbourhoods
from lastswitch.planning.search.opportunity import reduced
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.relaxation import Relaxation
from lastswitch.planning.search.shared_beam import advance as advance_shared
from lastswitch.planning.search.tiny import solve_tiny, tiny_block

#: Two arms, two rounds.
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
    solve_tiny(plain_model(EXAMPLE), 0.0)


@_once
def ready_to_build() -> None:
    """Load what makes diagrams of tables."""
    announce("planning", advance)
    block_model(EXAMPLE)


@_once
def ready_to_hurry() -> None:
    """Load prices and beams, which prove most problems."""
    announce("planning", advance)
    prices = Prices(block_model(EXAMPLE).arms)
    _beam(prices).run(-math.inf, 1)


@_once
def ready_to_widen() -> None:
    """Load deletions, and all that is loaded before them."""
    ready_to_hurry()
    reduced(Prices(_diagram()), -math.inf)


@_once
def ready_to_pair() -> None:
    """Load what merges machines."""
    merge.merged(Prices(_diagram()), 0, 1, 1, -math.inf, (100, 100))


@_once
def ready_to_grow() -> None:
    """Load what only searches that are not over soon need."""
    prices = Bundle(_diagram())
    prices.descend(0.0, 1)
    merge.rivals(prices, None, 0.0, 100)
    reduced(prices, 0.0, None, 0.0)
    model = block_model(EXAMPLE)
    price, usage = np.zeros(model.length), np.zeros((model.n_arms, model.length))
    Neighbourhoods(model).improved(np.array([0, 1]), price, usage, 0.0)


@_once
def ready_to_share() -> None:
    """Load what machines that share automata begin with: prices, deletions and beams."""
    announce("rules", advance_shared)
    relaxation = _shared(_ruled_model())
    relaxation.prices.descend(0.0, 1)
    relaxation.reduced(-math.inf, None, None)
    relaxation.beam(1, 0.0).run(-math.inf, 1)


@_once
def ready_to_grow_shared() -> None:
    """Load what such machines need if that does not prove them, and all that is loaded before."""
    ready_to_share()
    model = _ruled_model()
    relaxation = _shared(model)
    machines, sharing = relaxation.machines, relaxation.prices.sharing
    assert sharing is not None
    bundled = relaxation.bundled()
    bundled.prices.descend(0.0, 1)
    bundled.reduced(0.0, None, 0.0)
    labels = joint(sharing, machines[0], machines[1], np.ones(1, np.bool_))
    merge.merged(bundled.prices, 0, 1, labels, -math.inf, (100, 100))
    price, usage = bundled.prices.price, np.zeros((model.n_arms, model.length))
    Neighbourhoods(model).improved(((0,), ()), price, usage, 0.0)


def _ruled_model() -> Model:
    """Return two arms that are never close together."""
    from lastswitch.planning.diagrams.shared import ruled_model
    from lastswitch.planning.ruled_problem import RuledProblem
    from lastswitch.rules import apart

    return ruled_model(RuledProblem(EXAMPLE, rules=[apart([0, 1], 2)], plays=(0, 1)))


def _shared(model: Model) -> Relaxation:
    """Return the relaxation of a model whose machines share automata."""
    diagram = compact(model)
    assert diagram is not None
    assert model.shared is not None
    sharing, machines = model.shared.sharing(model.length), model.shared.machines()
    return Relaxation(Prices(diagram, sharing=sharing), machines, model.alike)


def _diagram() -> Diagram:
    """Return some machines, the smallest that all kernels can work on."""
    diagram = compact(block_model(EXAMPLE))
    assert diagram is not None
    return diagram


def _beam(prices: Prices) -> Beam:
    """Return a beam over the machines that are priced."""
    n = len(prices.diagram.root)
    return Beam(prices.diagram, np.arange(n), 1, prices.worth, prices.price)
