"""The machine of a curve by definition: list every state of its tables, merge equal futures."""

from __future__ import annotations

import numpy as np

from lastswitch.model.curves import Curve
from lastswitch.planning.diagrams.arm_states import ArmStates


def merged_states(curve: Curve) -> ArmStates:
    """Return the canonical states of ``curve`` by Moore's partition refinement."""
    R, S = len(curve.rest), len(curve.streak)
    # Listed states: τ = 1..R, then τ = −1..−S, then τ = 0, which pays as −1 and moves to −1.
    pay = np.array([*curve.rest, *curve.streak, curve.streak[0]])
    on_pull = np.full(R + S + 1, R)
    on_pull[R : R + S] = np.minimum(np.arange(1, S + 1), S - 1) + R
    on_idle = np.zeros(R + S + 1, dtype=int)
    on_idle[:R] = np.arange(1, R + 1)
    on_idle[R - 1] = 0 if curve.tail == "repeat" else R - 1
    label = _coarsest_partition(pay, on_pull, on_idle)
    order = _canonical_order(label.tolist(), on_pull.tolist(), on_idle.tolist(), first=R)
    new = np.empty(len(order), dtype=int)
    new[label[order]] = np.arange(len(order))
    state = new[label]
    return ArmStates(
        pay=tuple(pay[order].tolist()),
        on_pull=tuple(state[on_pull[order]].tolist()),
        on_idle=tuple(state[on_idle[order]].tolist()),
        rest=tuple(state[:R].tolist()),
        streak=tuple(state[R : R + S].tolist()),
        fresh=int(state[R + S]),
        repeats=curve.tail == "repeat",
    )


def _coarsest_partition(pay, on_pull, on_idle):
    """Label states so that two share a label exactly when all their futures pay the same."""
    values, label = np.unique(pay, return_inverse=True)
    classes = len(values)
    while True:
        signature = (label * classes + label[on_pull]) * classes + label[on_idle]
        values, label = np.unique(signature, return_inverse=True)
        if len(values) == classes:
            return label
        classes = len(values)


def _canonical_order(label, on_pull, on_idle, first):
    """Return one listed state per class, in an order that depends on behaviour only."""
    order, seen, ahead = [], set(), [first]
    while ahead:  # depth first, pulls before idles
        state = ahead.pop()
        if label[state] not in seen:
            seen.add(label[state])
            order.append(state)
            ahead += [on_idle[state], on_pull[state]]
    for state in range(len(label)):  # τ = 0 is reached from nowhere, only started in
        if label[state] not in seen:
            seen.add(label[state])
            order.append(state)
    return order
