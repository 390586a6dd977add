"""A plan checks its certificate, explains itself, and survives being written down."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch._utils.codec import save_json, unstamp
from lastswitch.errors import FileError, InputTypeError, PlanError
from lastswitch.planning import BlockProblem, Plan
from lastswitch.planning.reading import cap, quality

RADIO = ls.Bandit(
    [ls.curves.spike(2, 0.9), ls.curves.constant(0.3), ls.curves.constant(0.1)],
    names=["jazz", "talk", "silence"],
)


@pytest.mark.parametrize(("value", "bound"), [(1.0, 0.9), (np.nan, 1.0), (1.0, np.nan)])
def test_a_broken_certificate_is_refused(value: float, bound: float) -> None:
    """A value above its bound, or no number at all, is not a plan."""
    with pytest.raises(PlanError, match="the certificate is broken"):
        Plan((0,), value, bound)


def test_an_empty_block_is_refused() -> None:
    """A plan needs at least one slot."""
    with pytest.raises(PlanError, match="block is empty"):
        Plan((), 0.0, 0.0)


def test_every_arm_needs_a_name() -> None:
    """Names cover the arms of the block."""
    with pytest.raises(PlanError, match="names has 1 entries for 2 arms"):
        Plan((0, 1), 0.0, 0.0, names=("jazz",))


def test_a_plan_prints_as_a_calendar() -> None:
    """Rounds in rows, what every arm pays, the caps, who is not played."""
    plan = ls.plan_block(RADIO, 9, start=[2, 1, 1])
    assert str(plan).splitlines() == [
        "9 rounds, worth 4.5 (0.5 per round), proven optimal",
        "  0-8  jazz  talk  talk  jazz  talk  talk  jazz  talk  talk",
        "jazz: 3 plays, paying 2.7 (0.9 a play); at most once every 3 rounds",
        "talk: 6 plays, paying 1.8 (0.3 a play); at most 2 in a row, then at least 1 round of rest",
        "not played: silence",
    ]


def test_long_plans_wrap() -> None:
    """No line of the calendar's rows is longer than a terminal."""
    plan = ls.plan_block(RADIO, 60, start=[2, 1, 1])
    rows = [line for line in str(plan).splitlines() if line.startswith("  ")]
    assert len(rows) > 1
    assert max(map(len, rows)) <= 88


@given(gap=st.floats(1e-7, 0.99))
def test_the_printed_promise_holds(gap: float) -> None:
    """The per cent in words is never less than the gap."""
    plan = Plan((0,), 1.0, 1.0 + gap)
    assert float(quality(plan).split()[1]) >= 100 * plan.gap * (1 - 1e-9)


@pytest.mark.parametrize(
    ("slots", "cycle", "words"),
    [
        ([0], False, "once"),
        ([0], True, "at most once every 9 rounds"),
        ([3, 4, 5], False, "3 in a row, once"),
        ([0, 3, 8], True, "at most 2 in a row, then at least 2 rounds of rest"),
        ([0, 2, 8], False, "at most once every 2 rounds"),
        (list(range(9)), True, "every round"),
    ],
)
def test_caps_are_those_of_the_schedule(slots: list[int], cycle: bool, words: str) -> None:
    """In a cycle the last round is followed by the first."""
    assert cap(slots, 9, cycle) == words


def test_a_plan_survives_json() -> None:
    """Block, certificate, names, prices and problem come back."""
    plan = ls.plan_block(RADIO, 12, start=[1, 1, 1])
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again.to_dict() == plan.to_dict()
    assert str(again) == str(plan)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"format": "other-9"}, "lastswitch/plan"), ({"value": 0.5}, "does not match its digest")],
)
def test_a_plan_of_another_format_is_refused(change: dict[str, object], message: str) -> None:
    """The message names the format this release reads, or says that the plan was changed."""
    with pytest.raises(FileError, match=message):
        Plan.from_dict({**Plan((0,), 1.0, 1.0).to_dict(), **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": 999.0, "bound": 999.0}, "worth 999.0, and it is worth 4."),
        ({"block": [77] * 9}, "names arm 77"),
        ({"bound": float("inf")}, "bound must be finite"),
        ({"repeats": "yes"}, "repeats"),
        ({"block": None}, "lacks its entry 'block'"),
    ],
)
def test_a_plan_whose_numbers_are_not_its_own_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    """Whoever makes a digest of their own still has to give the block's true value."""
    plan = ls.plan_block(RADIO, 9, start=[2, 1, 1])
    content = unstamp(plan.to_dict(), "plan", 2, "plan") | change
    if content["block"] is None:
        del content["block"]
    file = save_json(tmp_path / "plan.json", "plan", 2, content)
    with pytest.raises(FileError, match=message):
        ls.load_plan(file)
    assert ls.load_plan(plan.save(file)).block == plan.block


def test_a_plan_draws_a_lane_per_arm() -> None:
    """Names on the axis, one bar per round in the lane of the arm that plays."""
    plan = ls.plan_block(RADIO, 9, start=[2, 1, 1])
    axes = plan.plot()
    assert plan.plot(axes) is axes
    axes.clear()
    axes = plan.plot(axes)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(RADIO.names)
    assert axes.get_title(loc="left").startswith("9 rounds, worth 4.5")
    filled = [bars for bars in axes.containers if len(bars)]
    assert sum(len(bars) for bars in filled) == 2 * 9  # the lane's height, and the pay in it


def test_a_plan_of_many_arms_draws_those_it_plays() -> None:
    """A picture of a thousand lanes would show nothing; it says how many there are."""
    curves = [ls.Curve([0.5 + arm / 4000], [0.0]) for arm in range(1000)]
    axes = ls.plan_block(ls.Bandit(curves), 6).plot()
    names = {label.get_text() for label in axes.get_yticklabels()}
    assert names == {"arm 998", "arm 999"}
    assert any("2 of 1,000 arms" in text.get_text() for text in axes.texts)


@pytest.mark.parametrize("length", [2, 7, 30])
def test_the_title_of_a_plan_fits_its_figure(length: int) -> None:
    """However short the cycle, nothing is cut off."""
    figure = ls.plan_cycle(RADIO, length).plot().get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    box = figure.axes[0]._left_title.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1


def test_a_plan_without_its_problem_cannot_be_drawn() -> None:
    """There are no pays to draw, and the error says so."""
    with pytest.raises(PlanError, match="does not carry its problem"):
        Plan((0,), 1.0, 1.0).plot()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"length": None}, PlanError, "length is missing"),
        ({"length": 2.5}, InputTypeError, "length must be an integer, got 2.5"),
        ({"solver": "magic"}, PlanError, "solver must be one of certified, .* got 'magic'"),
        ({"gap": -0.1}, PlanError, "gap must be at least 0, got -0.1"),
        ({"time_limit": 0.0}, PlanError, "time_limit must be positive seconds, got 0.0"),
        ({"warm": Plan((0,), 1.0, 1.0)}, PlanError, "warm plans 1 slots"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    """Each message repeats what was given."""
    with pytest.raises(error, match=message):
        ls.plan_block(RADIO, **{"length": 3, **options})


def test_a_problem_brings_its_own_length() -> None:
    """Options of the problem cannot be given twice."""
    problem = BlockProblem.from_bandit(RADIO, 3)
    with pytest.raises(PlanError, match="part of a BlockProblem already"):
        ls.plan_block(problem, 3)


def test_only_bandits_and_problems_are_planned() -> None:
    """A list of curves is not a bandit yet."""
    with pytest.raises(InputTypeError, match="needs a Bandit or a BlockProblem, got list"):
        ls.plan_block([ls.curves.constant(0.5)], 3)


def test_enumeration_refuses_what_would_take_hours() -> None:
    """The error counts the blocks and names the solver to use."""
    with pytest.raises(PlanError, match=r"4\.2e\+28 blocks.*certified"):
        ls.plan_block(RADIO, 60, solver="brute-force")


def test_enumeration_out_of_time_still_brackets_the_optimum() -> None:
    """The best block so far comes with a bound no block can beat."""
    plan = ls.plan_block(RADIO, 12, start=[1, 1, 1], solver="brute-force", time_limit=1e-6)
    best = ls.plan_block(RADIO, 12, start=[1, 1, 1]).value
    assert plan.value <= best <= plan.bound


def test_a_plan_of_a_far_arm_makes_no_names_for_all_before_it():
    """A billion of them would fill the memory."""
    with pytest.raises(PlanError, match="names="):
        Plan((10**9,), 1.0, 1.0)
    assert len(Plan((1000,), 1.0, 1.0).names) == 1001
