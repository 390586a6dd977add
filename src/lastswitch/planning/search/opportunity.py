"""Opportunity costs: what a move of one machine costs the others.

At the prices, a machine that must idle in a round, or must be pulled there, loses something: its
best path, less the best that does so. A schedule loses at least the sum of what its machines lose.
So a machine that is pulled in a round costs what the others lose where at most so many more of them
can be pulled, and one that idles costs what they lose where enough of them must be. These
opportunity costs come on top of what the move loses by itself.
"""

from __future__ import annotations

import numpy as np

from lastswitch._utils.arrays import FloatArray
from lastswitch.planning.diagrams.diagram import Diagram
from lastswitch.planning.diagrams.minimise import Pause, fixed, minimal
from lastswitch.planning.search.prices import Prices
from lastswitch.planning.search.trails import IDLE, PULL, Kept, new_trail, walk


def reduced(
    prices: Prices, floor: float, pause: Pause | None = None, rounding: float | None = None
) -> Diagram | None:
    """Return the diagram without the arcs that only schedules worth at most ``floor`` can use.

    With a ``rounding``, up to which sums may be equal, what an arc costs other machines counts,
    too. None if no way is left to some machine: no schedule is worth more than ``floor``.
    """
    m, slack = prices.diagram, prices.bound - floor
    if rounding is None:
        return fixed(m, prices.cost, prices.worth, -slack, pause)
    loss = losses(prices, list(range(len(m.root))), slack, rounding, pause)
    arms = n_arms(prices)
    least = np.zeros_like(loss)
    least[:, :arms] = opportunity_costs(loss[:, :arms], *plays(prices))
    # By machine first, so that each has its limits in one piece: others are compiled for anew.
    limit = np.ascontiguousarray((slack - least).swapaxes(0, 1))
    kept = Kept(np.full_like(m.idle, -1), np.full_like(m.nxt, -1))
    trail = new_trail(m)
    for machine in range(len(m.root)):
        walk(prices, machine, limit[machine], trail, kept, pause)
    return minimal(m._replace(idle=kept.idle, nxt=kept.nxt), pause)


def cost_to_others(
    prices: Prices, one: int, other: int, floor: float, rounding: float | None
) -> FloatArray | None:
    """Return what all machines but two lose, if both idle in a round and if one is pulled there.

    By move and round; at least, in schedules worth more than ``floor``. None without a rounding.
    """
    if rounding is None:
        return None
    others = [i for i in range(n_arms(prices)) if i not in (one, other)]
    loss = losses(prices, others, prices.bound - floor, rounding)
    low, high, joint = plays(prices)
    idle = least_loss(loss, low, high)
    return np.stack([idle, least_loss(loss, max(low - 2 * joint, 0), high - 1)])


def n_arms(prices: Prices) -> int:
    """Return how many of the machines have arms; the others are shared automata."""
    return len(prices.diagram.root) if prices.sharing is None else prices.sharing.n_arms


def plays(prices: Prices) -> tuple[int, int, int]:
    """Return how many machines a round pulls, at least and at most, and what one may pull.

    A merge may pull several of its arms; so fewer machines are enough.
    """
    sharing = prices.sharing
    if sharing is None:
        return 1, 1, 1
    joint = max(int(sharing.plays.max()), 1)
    return -(-sharing.least // joint), sharing.most, joint


def losses(
    prices: Prices,
    machines: list[int],
    slack: float,
    rounding: float,
    pause: Pause | None = None,
) -> FloatArray:
    """Return what machines lose at least by idling in each round, and by being pulled there.

    By move, machine and round. What is much more than the slack counts as just that.
    """
    m, d = prices.diagram, prices.diagram.length
    loss, limit, trail = np.empty((2, len(machines), d)), np.full((2, d), slack), new_trail(m)
    for row, machine in enumerate(machines):
        loss[:, row] = walk(prices, machine, limit, trail, pause=pause)
    most: FloatArray = np.clip(loss - rounding, 0.0, 4.0 * max(slack, rounding))
    return most


def opportunity_costs(loss: FloatArray, low: int = 1, high: int = 1, joint: int = 1) -> FloatArray:
    """Return what the other machines lose, by move of a machine, machine and round.

    A round pulls ``low`` to ``high`` machines, of which one may count as ``joint``.

    Examples
    --------
    Three machines and a round. The first must have it, which leaves nothing to the others.

    >>> opportunity_costs(np.array([[[9.0], [0.0], [0.0]], [[0.0], [1.0], [3.0]]]))[:, :, 0]
    array([[1., 0., 0.],
           [0., 9., 9.]])
    """
    idle = loss[IDLE].sum(axis=0) - loss[IDLE]
    more = loss[PULL] - loss[IDLE]  # by one that is pulled instead of idling
    order = np.argsort(more, axis=0, kind="stable")
    ranked = np.take_along_axis(more, order, axis=0)[: high + 1]
    padding = np.full((high + 2 - len(ranked), more.shape[1]), np.inf)
    ranked, rank = np.concatenate([ranked, padding]), np.argsort(order, axis=0, kind="stable")

    def others(at_least: int, at_most: int) -> FloatArray:
        total = idle.copy()
        for k in range(at_most):
            another = np.where(k < rank, ranked[k], ranked[k + 1])  # the machine's own is no other
            total += another if k < at_least else np.minimum(another, 0.0)
        least: FloatArray = np.maximum(total, 0.0)
        return least

    return np.stack([others(low, high), others(max(low - joint, 0), high - 1)])


def least_loss(loss: FloatArray, low: int, high: int) -> FloatArray:
    """Return what these machines lose at least by round, if so many of them are pulled.

    Examples
    --------
    >>> loss = np.array([[[9.0, 0.0], [0.0, 0.0]], [[0.0, 2.0], [1.0, 3.0]]])
    >>> least_loss(loss, 1, 1), least_loss(loss, 0, 0)
    (array([0., 2.]), array([9., 0.]))
    """
    more = np.sort(loss[PULL] - loss[IDLE], axis=0)
    total: FloatArray = loss[IDLE].sum(axis=0)
    for k in range(high):
        another = more[k] if k < len(more) else np.full(loss.shape[2], np.inf)
        total = total + (another if k < low else np.minimum(another, 0.0))
    least: FloatArray = np.maximum(total, 0.0)
    return least
