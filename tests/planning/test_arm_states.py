"""One arm as the smallest machine that pays what its curve pays."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.planning.diagrams.arm_states import arm_states
from planning.moore import merged_states

# Few values, so that flat tails, short periods and sides that meet are common.
TABLES = st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=1, max_size=7)


@given(TABLES, TABLES, st.sampled_from(["hold", "repeat"]))
@example([0.5, 0.0, 0.5, 0.0], [0.0, 0.0], "repeat")
@example([0.25, 0.25], [0.25, 0.0], "hold")
@settings(max_examples=600)
def test_the_states_listed_are_those_that_merging_leaves(rest, streak, tail):
    """Read off the curve's support, or merged from all states of the tables: the same machine."""
    curve = ls.Curve(rest, streak, tail, monotone=False)
    assert arm_states(curve) == merged_states(curve)


def test_a_curve_of_many_rounds_is_read_in_one_pass():
    """A hundred thousand rounds that pay nothing, then one: each of them is a state of its own."""
    machine = arm_states(ls.curves.step(at=100_000, high=1.0))
    assert len(machine) == 100_001
    assert machine.pay[-1] == 1.0


def test_two_curves_that_pay_alike_have_one_machine_and_others_do_not():
    """What tables are longer than they need be makes no difference; what pays otherwise does."""
    short, long = ls.Curve([0.2, 0.9], [0.1]), ls.Curve([0.2, 0.9, 0.9], [0.1, 0.1])
    assert arm_states(short).behaviour == arm_states(long).behaviour
    assert arm_states(short).behaviour != arm_states(ls.Curve([0.2], [0.1])).behaviour
