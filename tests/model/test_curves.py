"""What an arm pays, in every state, and what is refused."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import Bandit, Curve
from lastswitch.errors import CurveError, InputTypeError, LastSwitchError
from lastswitch.model.curves import (
    Kind,
    Support,
    constant,
    periodic,
    recovering,
    satiating,
    spike,
    step,
)
from strategies import curves, pays, taus


@given(curve=curves(), tau=taus)
def test_a_curve_reads_its_tables(curve, tau):
    """Rest k+1 pays rest[k], streak -(k+1) pays streak[k], and the tail rule does the rest."""
    if tau < 0:
        expected = (list(curve.streak) + [curve.streak[-1]] * 20)[-tau - 1]
    elif curve.tail == "repeat":
        expected = (list(curve.rest) * 20)[tau - 1]
    else:
        expected = (list(curve.rest) + [curve.rest[-1]] * 20)[tau - 1]
    assert curve(tau) == expected


@given(curve=curves(), many=st.lists(st.integers(-20, 20), min_size=1))
def test_arrays_and_integers_agree(curve, many):
    """A curve on an array is the curve on each entry."""
    assert curve(many).tolist() == [curve(tau) for tau in many]
    assert curve(np.array(many, dtype=np.int32)).tolist() == [curve(np.int64(t)) for t in many]


@given(curve=curves())
def test_tau_zero_is_just_played(curve):
    """State 0 is answered as -1."""
    assert curve(0) == curve(-1)


@pytest.mark.parametrize("tau", [1.5, "1", [0.5], True])
def test_a_state_that_is_no_integer_is_refused(tau):
    """The message repeats what was given."""
    with pytest.raises(InputTypeError, match=re.escape(f"got {tau!r}")):
        constant(0.5)(tau)


@given(curve=curves())
def test_support_tells_which_states_differ(curve):
    """Beyond its support a curve pays nothing new."""
    rest, streak = curve.support()
    assert all(curve(-run) == curve(-streak) for run in range(streak, streak + 10))
    if curve.tail == "repeat":
        assert all(curve(tau) == curve(tau + rest) for tau in range(1, 20))
    else:
        assert all(curve(tau) == curve(rest) for tau in range(rest, rest + 10))


@given(curve=curves())
def test_support_is_as_small_as_can_be(curve):
    """One state fewer would merge states that pay differently."""
    rest, streak = curve.support()
    if streak > 1:
        assert curve(-streak) != curve(-streak + 1)
    if curve.tail == "hold" and rest > 1:
        assert curve(rest) != curve(rest - 1)
    if curve.tail == "repeat":
        for shorter in range(1, rest):
            assert any(curve(tau) != curve(tau + shorter) for tau in range(1, 2 * rest + 1))


@given(values=st.lists(pays, min_size=1, max_size=6))
def test_delays_are_one_round_ahead_of_rests(values):
    """Delay 1 is any streak, delay j >= 2 is a rest of j - 1 rounds."""
    curve = ls.Curve.from_delays(values)
    assert {curve(-run) for run in range(1, 9)} == {values[0]}
    held = values + [values[-1]] * 10
    assert all(curve(delay - 1) == held[delay - 1] for delay in range(2, 12))


@pytest.mark.parametrize(
    ("curve", "kind"),
    [
        (constant(0.2), Kind("constant", "constant")),
        (step(3, 0.9), Kind("nondecreasing", "constant")),
        (spike(3, 0.9), Kind("arbitrary", "constant")),
        (periodic([0.1, 0.9], [0.5, 0.2]), Kind("arbitrary", "nondecreasing")),
        (periodic([0.5], 0.5), Kind("constant", "constant")),
        (ls.Curve([0.5], [0.2, 0.4], monotone=False), Kind("constant", "arbitrary")),
    ],
)
def test_kinds_index_the_papers_table(curve, kind):
    """Each side is constant, nondecreasing in tau, or arbitrary."""
    assert curve.kind == kind


@pytest.mark.parametrize(
    ("curve", "support"),
    [
        (constant(0.2), Support(1, 1)),
        (step(4, 0.9, low=0.1), Support(4, 1)),
        (spike(4, 0.9), Support(5, 1)),
        (satiating(0.8, 0.2, after=3), Support(1, 3)),
        (recovering(0.8, after=5), Support(5, 1)),
        (periodic([0.1, 0.2, 0.1, 0.2], 0.0), Support(2, 1)),
    ],
)
def test_named_shapes_have_the_depth_they_name(curve, support):
    """The parameters of a shape are its number of states."""
    assert curve.support() == support


@given(ceiling=pays, after=st.integers(1, 12))
def test_recovery_is_concave_and_full_in_time(ceiling, after):
    """Each further round of rest brings no more than the one before, up to the ceiling."""
    values = np.array([0.0, *recovering(ceiling, after)(range(1, after + 3))])
    assert (np.diff(np.diff(values)) <= 1e-9).all()
    assert values[after] == pytest.approx(ceiling)


def test_curves_are_values():
    """Equal tables make equal, hashable curves that cannot be changed."""
    one, other = ls.Curve([0.5, 1], [0]), ls.Curve(np.array([0.5, 1.0]), (0.0,))
    assert one == other
    assert hash(one) == hash(other)
    assert one != ls.Curve([0.5, 1], [0], "repeat")
    with pytest.raises(AttributeError):
        one.rest = (1.0,)


def test_negative_zero_is_zero():
    """Two curves that pay nothing are the same curve, whatever the sign of their zeros."""
    assert str(ls.Curve([-0.0], [0.0])) == str(ls.Curve([0.0], [-0.0]))


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_values_outside_the_unit_interval_are_refused(value):
    """The message names the side, the state and the value."""
    with pytest.raises(
        CurveError, match=re.escape(f"rest must lie in [0, 1], got {value} at tau 2")
    ):
        ls.Curve([0.5, value], [0.1])
    with pytest.raises(CurveError, match=re.escape(f"got {value} at tau -1")):
        ls.Curve([0.5], [value])
    with pytest.raises(CurveError, match=re.escape(f"got {value} at delay 2")):
        ls.Curve.from_delays([0.5, value])


def test_both_ends_of_the_unit_interval_are_fine():
    """0 and 1 are legal pays."""
    assert ls.Curve([0, 1], [1, 0])(-2) == 0.0


@pytest.mark.parametrize("table", [[], 0.5, [[0.1]], "abc", None, ["0.5"], [1j], [0.1, [0.2]]])
def test_tables_that_are_no_lists_of_numbers_are_refused(table):
    """The message shows what was given."""
    with pytest.raises(CurveError, match=re.escape(f"got {table!r}")):
        ls.Curve(table, [0.1])


def test_a_rising_streak_is_refused_unless_asked_for():
    """The message names both states and both pays, and the way out."""
    with pytest.raises(
        CurveError, match=r"tau -1 pays 0.1 but tau -2 pays 0.3; pass monotone=False"
    ):
        ls.Curve([0.5], [0.1, 0.3])
    assert ls.Curve([0.5], [0.1, 0.3], monotone=False)(-2) == 0.3


def test_an_unknown_tail_is_refused():
    """The message lists the two tails."""
    with pytest.raises(CurveError, match=r"one of hold, repeat, got 'stop'"):
        ls.Curve([0.5], [0.1], tail="stop")


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, 2_000_000_000])
def test_shapes_count_whole_rounds(rounds):
    """A shape's number of rounds is a positive integer."""
    with pytest.raises(CurveError, match=re.escape(f"got {rounds!r}")):
        step(rounds, 0.5)


def test_unsigned_states_are_read_like_any_other():
    """Zero stays "just played" whatever the integer type of the array."""
    curve = ls.Curve([0.2, 0.9], [0.1, 0.0])
    assert curve(np.array([0, 1, 2], dtype=np.uint8)).tolist() == [0.1, 0.2, 0.9]


def test_long_curves_print_short():
    """A curve of a hundred values fits on a line."""
    assert len(repr(ls.Curve(np.linspace(0, 1, 100), [0]))) < 120


@pytest.mark.parametrize(
    "values",
    [
        [0.5 + 0j],
        np.array([0.5 + 0.1j]),
        ["0.5"],
        np.array(["0.5"], dtype=object),
        np.array([0.5, "0.5"], dtype=object),
        np.array([1j], dtype=object),
        np.array([1, 1], dtype="m8[s]"),
        np.array([1], dtype="M8[s]"),
        np.ma.array([0.5, 0.5], mask=[False, True]),
    ],
)
def test_what_is_no_number_is_no_pay(values):
    """Complex numbers, text, dates and masked entries, whatever array they come in."""
    for tables in ((values, [0.1]), ([0.5], values)):
        with pytest.raises(CurveError, match="must be a list of numbers"):
            Curve(*tables)
        with pytest.raises(CurveError, match="must be a list of numbers"):
            Bandit([tables])
    plain = np.ma.array([0.5, 0.25], mask=False)
    assert Curve(plain, [True]).rest == (0.5, 0.25)


@pytest.mark.parametrize("given", [1 + 0j, "1", [1.5], np.ma.array([1, 2], mask=[True, False])])
def test_a_bandit_starts_in_whole_states_only(given):
    """The same of where its arms start, and of its other numbers."""
    with pytest.raises(LastSwitchError):
        Bandit([([0.5], [0.1])] * 2, initial=given)
    for key in ("sigma", "silence"):
        with pytest.raises(LastSwitchError):
            Bandit([([0.5], [0.1])] * 2, **{key: given})
