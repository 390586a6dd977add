"""Prices by a proximal bundle: each step costs as much as a subgradient's and is worth several.

Every sweep at some prices gives a *cut*: a plane below the bound as a function of the prices,
known by its slope and by how far below the bound it lies at the best prices so far. A step goes
where the cuts together, and a penalty on the way there, are lowest. That is a quadratic program
over the weights of the cuts; the weighted mix of the cuts' paths is then close to a solution of
the linear program, which tells best which machines want the same slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._kernels import bare, bare_inner
from lastswitch.planning._tables import FloatArray
from lastswitch.planning.machines import Machines
from lastswitch.planning.params import DEFAULT, SearchParams
from lastswitch.planning.prices import Prices, ShareArray, claim, sweep

#: Entries of the memo: how many cuts there are, the step size now and at first, the bound at the
#: centre, whether the last step was serious, and whether nothing more is to be expected.
COUNT, STEP, FIRST, BOUND, AGAIN, OVER = 0, 1, 2, 3, 4, 5
#: Cuts with less weight than this are dropped when there is no room for another.
WEIGHTLESS = 1e-10
#: Bytes the paths of all cuts may take.
MOST_BYTES = 1 << 25


class Cuts(NamedTuple):
    """The cuts (first axis): slope by slot, error, weight, the slopes' products and the paths.

    ``along`` is the product of each slope with the weighted mix of all. One more row than there
    may be cuts, the last for a new one.
    """

    slope: FloatArray
    error: FloatArray
    weight: FloatArray
    gram: FloatArray
    along: FloatArray
    paths: ShareArray


class Centre(NamedTuple):
    """The best prices, those on trial, the mixed slope, what states are worth; and the memo."""

    price: FloatArray
    trial: FloatArray
    mixed: FloatArray
    worth: FloatArray
    memo: FloatArray


class Bundle(Prices):
    """Prices of some machines, moved by a proximal bundle method; used as :class:`Prices` is.

    Parameters
    ----------
    machines
        What is priced.
    price
        Prices to start from, by slot; the best pays by default.
    claims
        Claims to tell until the first step, if the machines were priced before in another form.
    params
        The constants of the search.

    Examples
    --------
    >>> from lastswitch.planning.automata import block_automata
    >>> from lastswitch.planning.machines import compact
    >>> from lastswitch.planning.problem import BlockProblem
    >>> problem = BlockProblem([[4.0, 6.0], [3.0, 3.0]], [[1.0], [3.0]], [[6.0] * 4, [3.0] * 4])
    >>> prices = Bundle(compact(block_automata(problem)))
    >>> prices.descend(target=17.0, steps=20)
    >>> round(prices.bound, 6)
    18.0
    """

    def restart(self, theta: float = 1.0) -> None:
        """Forget the cuts and the step size, and take stock at the current prices."""
        m, d = self.machines, self.machines.length
        params, descent = self.params, self._descent
        n = int(np.clip(len(m.idle) // params.states_per_cut, *params.cuts))
        n = min(n, max(2, MOST_BYTES // (4 * d * len(m.root))))
        self._cuts = Cuts(
            slope=np.empty((n + 1, d)),
            error=np.empty(n + 1),
            weight=np.empty(n + 1),
            gram=np.empty((n + 1, n + 1)),
            along=np.empty(n + 1),
            paths=np.empty((n + 1, len(m.root), d), np.float32),
        )
        self._memo = np.array([0.0, 0.0, 0.0, np.inf, 0.0, 0.0])
        self._centre = Centre(
            descent.price, descent.trial, descent.direction, descent.worth, self._memo
        )
        self._told = descent.claims
        bundle_steps(m, self._centre, self._cuts, 0.0, 0.0, 0)

    def slow_down(self, theta: float) -> None:
        """Do nothing: the step size finds itself."""

    @property
    def claims(self) -> FloatArray:
        """How much of each slot each machine takes in the mix of paths at these prices."""
        n = int(self._memo[COUNT])
        if n == 0:
            return self._told
        mix = self._cuts.weight[:n].astype(np.float32) @ self._cuts.paths[:n].reshape(n, -1)
        return mix.reshape(self._cuts.paths.shape[1:]).astype(np.float64)

    @property
    def bound(self) -> float:
        """No block is worth more than this."""
        return float(self._memo[BOUND])

    @property
    def exhausted(self) -> bool:
        """Whether the cuts promise hardly anything more."""
        return bool(self._memo[OVER])

    def descend(self, target: float, steps: int) -> None:
        """Take up to ``steps`` steps, until the bound is ``target`` or hardly lower anywhere."""
        if not self.exhausted:
            tolerance = self.params.bundle_tolerance
            bundle_steps(self.machines, self._centre, self._cuts, target, tolerance, steps)


@bare
def bundle_steps(
    m: Machines, centre: Centre, cuts: Cuts, target: float, tolerance: float, steps: int
) -> None:
    """Move the centre to lower bounds; leave what states are worth there.

    A trial that keeps a tenth of what the cuts promise becomes the centre (a serious step); any
    other only adds its cut (a null step).
    """
    price, trial, memo, worth = centre.price, centre.trial, centre.memo, centre.worth
    d, room = len(price), len(cuts.error) - 1
    n = int(memo[COUNT])
    swept = n > 0  # whether `worth` is that of the centre
    if n == 0:
        for s in range(m.lo[d], m.hi[d]):
            worth[s] = m.final[s - m.lo[d]]
        sweep(m, price, worth)
        memo[BOUND] = claim(m, price, worth, cuts.slope[0], cuts.paths[0])
        swept = True
        if steps == 0:
            return
        n = 1
        cuts.error[0], cuts.weight[0] = 0.0, 1.0
        products(cuts, 0)
        cuts.along[0] = cuts.gram[0, 0]
        reach = 0.5 * (memo[BOUND] - target) / max(cuts.gram[0, 0], 1e-300)
        memo[STEP], memo[FIRST] = reach, reach
    for _ in range(steps):
        length = memo[STEP]
        weigh(cuts, n, length)
        square, error = mix(cuts, n, centre.mixed)
        promise, gap = length * square + error, memo[BOUND] - target
        if gap <= 0.0 or error + square * max(length, memo[FIRST]) <= tolerance * gap:
            memo[OVER] = 1.0
            break
        for t in range(d):
            trial[t] = price[t] - length * centre.mixed[t]
        if n == room:
            n = fewer(cuts, n, centre.mixed, error)
        sweep(m, trial, worth)
        bound = claim(m, trial, worth, cuts.slope[n], cuts.paths[n])
        swept = memo[BOUND] - bound >= 0.1 * promise
        if swept:
            for k in range(n):  # the slope times the way is -length * along
                cuts.error[k] += bound - memo[BOUND] + length * cuts.along[k]
                cuts.error[k] = max(cuts.error[k], 0.0)
            cuts.error[n] = 0.0
            if memo[BOUND] - bound >= 0.5 * promise:
                memo[STEP] *= 1.6
            elif memo[AGAIN] > 0.0:
                memo[STEP] *= 1.3
            memo[BOUND] = bound
            for t in range(d):
                price[t] = trial[t]
        else:
            turn = 0.0
            for t in range(d):
                turn += cuts.slope[n, t] * centre.mixed[t]
            cuts.error[n] = max(memo[BOUND] - bound - length * turn, 0.0)
            if cuts.error[n] > 2.0 * promise:
                memo[STEP] *= 0.8
        memo[AGAIN] = 1.0 if swept else 0.0
        cuts.weight[n] = 0.0
        products(cuts, n)
        n += 1
    memo[COUNT] = n
    if not swept:
        sweep(m, price, worth)


@bare_inner
def products(cuts: Cuts, n: int) -> None:
    """Fill the products of the slope of cut ``n`` with those before it, and with the mix."""
    for k in range(n + 1):
        total = 0.0
        for t in range(cuts.slope.shape[1]):
            total += cuts.slope[k, t] * cuts.slope[n, t]
        cuts.gram[k, n] = cuts.gram[n, k] = total
    along = 0.0
    for k in range(n):
        along += cuts.gram[n, k] * cuts.weight[k]
    cuts.along[n] = along


@bare_inner
def weigh(cuts: Cuts, n: int, length: float) -> None:
    """Move the weights towards the lowest of length / 2 |mixed slope|^2 + mixed error.

    Pairwise steps from the cut of steepest gradient (among those with weight) to the flattest;
    2 n of them, starting from the last weights, come close enough.
    """
    gram, weight, along, error = cuts.gram, cuts.weight, cuts.along, cuts.error
    for _ in range(2 * n):
        steep, flat = -1, 0
        most, least = -np.inf, np.inf
        for k in range(n):
            gradient = length * along[k] + error[k]
            if weight[k] > 0.0 and gradient > most:
                steep, most = k, gradient
            if gradient < least:
                flat, least = k, gradient
        if most - least <= 1e-12 * max(abs(most), abs(least)):
            break
        bend = length * (gram[steep, steep] + gram[flat, flat] - 2.0 * gram[steep, flat])
        shift = weight[steep]
        if bend * shift > most - least:
            shift = (most - least) / bend
            weight[steep] -= shift
        else:
            weight[steep] = 0.0
        weight[flat] += shift
        for k in range(n):
            along[k] += shift * (gram[k, flat] - gram[k, steep])


@bare_inner
def mix(cuts: Cuts, n: int, mixed: FloatArray) -> tuple[float, float]:
    """Fill the mixed slope; return its square and the mixed error."""
    square, error = 0.0, 0.0
    for t in range(len(mixed)):
        mixed[t] = 0.0
    for k in range(n):
        error += cuts.weight[k] * cuts.error[k]
        if cuts.weight[k] > 0.0:
            for t in range(len(mixed)):
                mixed[t] += cuts.weight[k] * cuts.slope[k, t]
    for t in range(len(mixed)):
        square += mixed[t] * mixed[t]
    return square, error


@bare_inner
def fewer(cuts: Cuts, n: int, mixed: FloatArray, error: float) -> int:
    """Drop the cuts without weight, or fold all into their mix; return how many are left."""
    kept, n_machines, d = 0, cuts.paths.shape[1], len(mixed)
    light = False
    for k in range(n):
        light |= cuts.weight[k] < WEIGHTLESS
    if not light:
        for i in range(n_machines):
            for t in range(d):
                total = 0.0
                for k in range(n):
                    total += cuts.weight[k] * cuts.paths[k, i, t]
                cuts.paths[0, i, t] = total
        for t in range(d):
            cuts.slope[0, t] = mixed[t]
        cuts.error[0], cuts.weight[0] = error, 1.0
        products(cuts, 0)
        cuts.along[0] = cuts.gram[0, 0]
        return 1
    for k in range(n):
        if cuts.weight[k] < WEIGHTLESS:
            continue
        if kept < k:
            for t in range(d):
                cuts.slope[kept, t] = cuts.slope[k, t]
            for i in range(n_machines):
                for t in range(d):
                    cuts.paths[kept, i, t] = cuts.paths[k, i, t]
            cuts.error[kept], cuts.weight[kept] = cuts.error[k], cuts.weight[k]
            cuts.along[kept] = cuts.along[k]
            for j in range(n):
                cuts.gram[kept, j] = cuts.gram[k, j]
            for j in range(n):
                cuts.gram[j, kept] = cuts.gram[j, k]
        kept += 1
    return kept
