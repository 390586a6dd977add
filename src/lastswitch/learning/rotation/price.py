r"""What an arm's state is worth: a price per slot, and potentials.

Let a slot cost :math:`\lambda`. Alone, an arm that pays ``u`` in its states then has a best cycle
(rest a while, play a run, rest again), of gain :math:`g_i(\lambda) \ge 0` per round, and each of
its states has a *potential* :math:`h_i`: what being there is worth compared with being on that
cycle. For every price,

.. math:: \lambda + \sum_i g_i(\lambda)

is at least what any schedule earns per round, since a schedule plays one arm per round and pays
the price once. It is least where the arms' play frequencies sum to one, and that is the price
used: the arms, left alone, then ask for about as many slots as there are.

Cells: an arm's table holds its streak states -1, …, -S first, then its rest states 1, …, R. The
last of each stands for all deeper ones.
"""

from __future__ import annotations

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.jit import jit

_BISECTIONS = 30
_FAR = -1e18
_EQUAL = 1e-12


@jit(inner=True)
def best_cycle(
    values: FloatArray, streaks: int, depth: int, price: float
) -> tuple[float, float, int, int]:
    """Return the gain, play frequency, rest and run of one arm's best cycle at ``price``.

    The arm rests ``rest`` rounds and plays ``run`` times in a row. ``rest`` is 0 for an arm best
    played for ever, and -1 for one best never played (gain 0).
    """
    gain, frequency, rest, run = 0.0, 0.0, -1, 0
    forever = values[streaks - 1] - price
    if forever > gain:
        gain, frequency, rest, run = forever, 1.0, 0, 1
    repeats = 0.0
    for again in range(streaks):
        if again > 0:
            repeats += values[again - 1]
        for tau in range(1, depth + 1):
            rounds = tau + 1 + again
            pay = values[streaks + tau - 1] + repeats - (1 + again) * price
            if pay > gain * rounds:
                gain, frequency, rest, run = pay / rounds, (1.0 + again) / rounds, tau, 1 + again
    return gain, frequency, rest, run


@jit(inner=True)
def potentials(
    values: FloatArray,
    streaks: int,
    depth: int,
    price: float,
    gain: float,
    rest: int,
    out: FloatArray,
) -> None:
    """Fill ``out`` with the potential of each cell of one arm, whose best cycle gains and rests so.

    The potential of a cell is the largest sum of (pay - price - gain) on a way from it to the
    arm's best cycle. No cycle gains more than the best one, so ways with loops are never better
    and a few sweeps settle the table.
    """
    cells = streaks + depth
    for cell in range(cells):
        out[cell] = _FAR
    if rest < 0:
        out[cells - 1] = 0.0  # rest for ever
    elif rest == 0:
        out[streaks - 1] = 0.0  # play for ever
    else:
        out[0] = 0.0  # every rest-and-run cycle passes through the first repeat
    for _ in range(cells):  # three or four sweeps in practice
        changed = False
        for cell in range(cells - 1, -1, -1):
            idle, played = streaks, 0
            if cell >= streaks:
                idle = cell + 1 if cell + 1 < cells else cell
            else:
                played = cell + 1 if cell + 1 < streaks else cell
            worth, other = out[played] + values[cell] - price - gain, out[idle] - gain
            worth = other if other > worth else worth
            if worth > out[cell] + _EQUAL:
                out[cell] = worth
                changed = True
        if not changed:
            break


@jit
def price_places(
    values: FloatArray,
    streaks: int,
    depths: IntArray,
    places: float,
    floor: float,
    out: FloatArray,
    rests: IntArray,
) -> tuple[float, float]:
    """Fill ``out`` with all arms' potentials; return the price of a place, and the bound.

    The bound is λ per place and Σ g_i(λ). A round has so many ``places``, and an empty one pays
    ``floor``, the least price there is.
    ``rests`` are filled in: how long each arm's best cycle at that price rests (-1: for ever).
    """
    arms = values.shape[0]
    low, high = floor, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        frequency = 0.0
        for arm in range(arms):
            frequency += best_cycle(values[arm], streaks, depths[arm], middle)[1]
        if frequency > places:
            low = middle
        else:
            high = middle
    bound = high * places
    for arm in range(arms):
        gain, _, rests[arm], _ = best_cycle(values[arm], streaks, depths[arm], high)
        potentials(values[arm], streaks, depths[arm], high, gain, rests[arm], out[arm])
        bound += gain
    return high, bound
