"""Prices of rounds and of what monitors hear, so that every arm and every monitor plans alone.

A play pays the price of its round and the price of each letter it says to a monitor; a monitor
earns back the letters it hears. Then

    sum over rounds of (least * price + (most - least) * max(price, silence))
    + sum of the arms' best paths + sum of the monitors' best paths

is at least the value of every schedule, whatever the prices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lastswitch._arrays import FloatArray, IntArray
from lastswitch._kernels import jit
from lastswitch.planning.automata import StateArray
from lastswitch.planning.machines import Machines
from lastswitch.planning.prices import BEST, STALLS, THETA, best_pays, move

#: Prices begin at this share of the best pay of their round.
FIRST_SHARE = 0.8
#: Steps without progress before the step size shrinks, how much, and when steps end.
PATIENCE, SHRINK, SMALLEST = 12.0, 0.7, 0.002


class Heard(NamedTuple):
    """The monitors and how rounds are played, as kernels take them.

    ``said[letter, kind, m]`` is how often a play of ``kind`` says the letter to monitor ``m``;
    ``counts[letter, event]`` how often an event has it. ``column`` numbers the letters' prices,
    which follow those of the rounds. ``silence`` is what an empty place pays.
    """

    offset: IntArray
    after: StateArray
    pay: FloatArray
    root: StateArray
    column: IntArray
    watch: IntArray
    said: IntArray
    counts: IntArray
    least: int
    most: int
    silence: float


class Descent(NamedTuple):
    """The arrays of a descent: prices, direction and slope by column; worth by state.

    ``cost[t, kind]`` is what a play of a kind pays in round ``t`` at the trial prices; ``heard`` is
    what each event is worth to a monitor, in the round that is swept.
    """

    price: FloatArray
    trial: FloatArray
    direction: FloatArray
    slope: FloatArray
    worth: FloatArray
    memory: FloatArray
    cost: FloatArray
    heard: FloatArray
    pulls: IntArray
    spoken: IntArray
    memo: FloatArray


class Prices:
    """Prices of some machines and monitors, their bound, and the potential of every state.

    Parameters
    ----------
    machines
        The arms; their arcs say the kind.
    heard
        The monitors.
    price
        Prices to start from: of the rounds, then of the letters.
    """

    def __init__(self, machines: Machines, heard: Heard, price: FloatArray | None = None) -> None:
        d, kinds = machines.length, len(heard.watch)
        columns = d + int(heard.column.max(initial=-1)) + 1
        if price is None:
            price = np.zeros(columns)
            price[:d] = FIRST_SHARE * np.maximum(best_pays(machines), heard.silence)
        self.machines, self.heard = machines, heard
        worth = np.zeros(len(machines.idle))
        worth[machines.lo[d] : machines.hi[d]] = machines.final
        self._descent = Descent(
            price=np.array(price, dtype=np.float64),
            trial=np.empty(columns),
            direction=np.empty(columns),
            slope=np.empty(columns),
            worth=worth,
            memory=np.zeros(len(heard.after)),
            cost=np.zeros((d, kinds)),
            heard=np.zeros(heard.after.shape[1]),
            pulls=np.zeros(d, np.int64),
            spoken=np.zeros((len(heard.root), 2, d), np.int64),
            memo=np.empty(3),
        )
        self.restart()

    def restart(self, theta: float = 1.0) -> None:
        """Forget the step size and the direction, and take stock at the current prices."""
        self._descent.trial[:] = self._descent.price
        self._descent.direction[:] = 0.0
        self._descent.memo[:] = theta, 0.0, np.inf
        self.descend(np.inf, 1)

    def slow_down(self, theta: float) -> None:
        """Take no larger steps than ``theta`` from here on."""
        self._descent.memo[THETA] = min(self._descent.memo[THETA], theta)

    @property
    def price(self) -> FloatArray:
        """The best prices so far: of the rounds, then of the letters."""
        return self._descent.price

    @property
    def worth(self) -> FloatArray:
        """What each state of an arm is worth at these prices."""
        return self._descent.worth

    @property
    def memory(self) -> FloatArray:
        """What each state of a monitor is worth at these prices."""
        return self._descent.memory

    @property
    def cost(self) -> FloatArray:
        """What a play of each kind pays for each round at these prices."""
        return self._descent.cost

    @property
    def bound(self) -> float:
        """No schedule is worth more than this."""
        return float(self._descent.memo[BEST])

    @property
    def exhausted(self) -> bool:
        """Whether the steps have become too small to matter."""
        return bool(self._descent.memo[THETA] < SMALLEST)

    def descend(self, target: float, steps: int) -> None:
        """Take up to ``steps`` subgradient steps towards a bound of ``target``."""
        descend(self.machines, self.heard, self._descent, target, steps)

    def ahead(self) -> FloatArray:
        """Return by round what this and all later rounds are worth at their prices."""
        h, d = self.heard, self.machines.length
        rounds = self.price[:d]
        terms = h.least * rounds + (h.most - h.least) * np.maximum(rounds, h.silence)
        return np.append(np.cumsum(terms[::-1])[::-1], 0.0)


@jit
def descend(m: Machines, h: Heard, descent: Descent, target: float, steps: int) -> None:
    """Lower the bound over the prices by deflected Polyak steps.

    As for plain blocks: after ``PATIENCE`` steps without progress the steps shrink and go on from
    the best prices; a last sweep leaves the worth of those.
    """
    price, trial, memo = descent.price, descent.trial, descent.memo
    theta, stalls, lowest = memo[THETA], memo[STALLS], memo[BEST]
    swept = False
    while steps > 0 and stalls >= 0.0:
        steps -= 1
        sweep(m, h, trial, descent)
        bound = claim(m, h, descent)
        stalls += 1.0
        swept = bound < lowest
        if swept:
            if bound < lowest - 1e-6 * abs(lowest - target):
                stalls = 0.0
            lowest = bound
            for c in range(len(price)):
                price[c] = trial[c]
        back = stalls >= PATIENCE
        if back:
            theta *= SHRINK
        if bound == -np.inf or lowest <= target or theta < SMALLEST:
            stalls = -1.0
        elif back:
            stalls = 0.0
            for c in range(len(price)):
                trial[c], descent.direction[c] = price[c], 0.0
        elif not move(descent.slope, descent.direction, trial, theta * (bound - target)):
            stalls = -1.0
    if not swept:
        sweep(m, h, price, descent)
    memo[THETA], memo[STALLS], memo[BEST] = theta, 0.0, lowest


@jit(inner=True)
def sweep(m: Machines, h: Heard, at: FloatArray, descent: Descent) -> None:
    """Fill what plays cost at the prices ``at``, and what every state is worth then."""
    costs(h, at, descent.cost)
    sweep_arms(m, descent.cost, descent.worth)
    sweep_monitors(h, at, len(m.lo) - 1, descent.heard, descent.memory)


@jit(inline=True)
def costs(h: Heard, at: FloatArray, cost: FloatArray) -> None:
    """Fill what a play of each kind pays in each round: its price and those of its letters."""
    d, kinds = cost.shape
    for kind in range(kinds):
        for t in range(d):
            cost[t, kind] = at[t]
        for k in range(len(h.root)):
            for letter in range(2):
                n = h.said[letter, kind, k]
                if n:
                    for t in range(d):
                        cost[t, kind] += n * at[d + h.column[k, letter, t]]


@jit(inline=True)
def sweep_arms(m: Machines, cost: FloatArray, worth: FloatArray) -> None:
    """Fill the worth of every state of the arms, from the last round back."""
    for t in range(len(m.lo) - 2, -1, -1):
        a = m.arc[m.lo[t]]
        for s in range(m.lo[t], m.hi[t]):
            best = worth[m.idle[s]] if m.idle[s] >= 0 else -np.inf
            end = m.arc[s + 1]
            while a < end:
                v = m.gain[a] - cost[t, m.who[a]] + worth[m.nxt[a]]
                if v > best:
                    best = v
                a += 1
            worth[s] = best


@jit(inline=True)
def sweep_monitors(h: Heard, at: FloatArray, d: int, heard: FloatArray, memory: FloatArray) -> None:
    """Fill the worth of every state of the monitors, from the last round back."""
    events = len(heard)
    for k in range(len(h.root)):
        for t in range(d - 1, -1, -1):
            earn(h, at, d, k, t, heard)
            for s in range(h.offset[k, t], h.offset[k, t + 1]):
                best = -np.inf
                for e in range(events):
                    after = h.after[s, e]
                    if after >= 0:
                        v = h.pay[s, e] + heard[e] + memory[after]
                        if v > best:
                            best = v
                memory[s] = best


@jit(inline=True)
def earn(h: Heard, at: FloatArray, d: int, k: int, t: int, heard: FloatArray) -> None:
    """Fill what a monitor earns by each event of a round: its letters, at their prices."""
    one, two = at[d + h.column[k, 0, t]], at[d + h.column[k, 1, t]]
    for e in range(len(heard)):
        heard[e] = h.counts[0, e] * one + h.counts[1, e] * two


@jit(inner=True)
def claim(m: Machines, h: Heard, descent: Descent) -> float:
    """Follow the best paths of all arms and monitors; fill the slope and return the bound.

    Ties are broken so that what is asked for and what is offered agree: a round at the price of
    silence takes as many plays as come, a monitor hears what is said if it may as well.
    """
    at, cost, worth, memory = descent.trial, descent.cost, descent.worth, descent.memory
    slope, pulls, spoken = descent.slope, descent.pulls, descent.spoken
    d = len(m.lo) - 1
    bound = 0.0
    slope[:] = 0.0
    pulls[:] = 0
    spoken[:] = 0
    for i in range(len(m.root)):
        s = m.root[i]
        bound += worth[s]
        for t in range(d):
            if m.idle[s] >= 0 and worth[m.idle[s]] == worth[s]:
                s = m.idle[s]
                continue
            for a in range(m.arc[s], m.arc[s + 1]):
                if m.gain[a] - cost[t, m.who[a]] + worth[m.nxt[a]] == worth[s]:
                    pulls[t] += 1
                    for k in range(len(h.root)):
                        spoken[k, 0, t] += h.said[0, m.who[a], k]
                        spoken[k, 1, t] += h.said[1, m.who[a], k]
                    s = m.nxt[a]
                    break
    for t in range(d):
        bound += h.least * at[t] + (h.most - h.least) * max(at[t], h.silence)
        taken = h.most
        if at[t] < h.silence:
            taken = h.least
        elif at[t] == h.silence:
            taken = min(max(pulls[t], h.least), h.most)
        slope[t] = taken - pulls[t]
    for k in range(len(h.root)):
        s = h.root[k]
        bound += memory[s]
        for t in range(d):
            earn(h, at, d, k, t, descent.heard)
            best = -1
            for e in range(h.after.shape[1]):
                if h.after[s, e] < 0:
                    continue
                if h.pay[s, e] + descent.heard[e] + memory[h.after[s, e]] == memory[s]:
                    agrees = h.counts[0, e] == spoken[k, 0, t]
                    agrees &= h.counts[1, e] == spoken[k, 1, t]
                    if best < 0 or agrees:
                        best = e
            if best < 0:
                return -np.inf  # no way at all
            for letter in range(2):
                slope[d + h.column[k, letter, t]] += h.counts[letter, best] - spoken[k, letter, t]
            s = h.after[s, best]
    return bound


@jit
def delete(
    m: Machines,
    h: Heard,
    cost: FloatArray,
    price: FloatArray,
    worth: FloatArray,
    memory: FloatArray,
    slack: float,
    reached: FloatArray,
    remembered: FloatArray,
) -> None:
    """Set to -1 every move whose best path falls short of the best by ``-slack`` or more.

    ``reached`` and ``remembered`` are the best ways into the states of arms and monitors, relative
    to the best paths; they hold minus infinity but for the roots.
    """
    d = len(m.lo) - 1
    for t in range(d):
        for s in range(m.lo[t], m.hi[t]):
            after = m.idle[s]
            if after >= 0:
                if reached[s] + worth[after] <= slack:
                    m.idle[s] = -1
                elif reached[s] > reached[after]:
                    reached[after] = reached[s]
            for a in range(m.arc[s], m.arc[s + 1]):
                after = m.nxt[a]
                if after < 0:
                    continue
                way = reached[s] + m.gain[a] - cost[t, m.who[a]]
                if way + worth[after] <= slack:
                    m.nxt[a] = -1
                elif way > reached[after]:
                    reached[after] = way
    for k in range(len(h.root)):
        for t in range(d):
            one, two = price[d + h.column[k, 0, t]], price[d + h.column[k, 1, t]]
            for s in range(h.offset[k, t], h.offset[k, t + 1]):
                for e in range(h.after.shape[1]):
                    after = h.after[s, e]
                    if after < 0:
                        continue
                    way = remembered[s] + h.pay[s, e]
                    way += h.counts[0, e] * one + h.counts[1, e] * two
                    if way + memory[after] <= slack:
                        h.after[s, e] = -1
                    elif way > remembered[after]:
                        remembered[after] = way
