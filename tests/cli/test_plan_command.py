"""``lastswitch plan`` prints what the library plans."""

from __future__ import annotations

import json

import pytest

from lastswitch.cli import main
from lastswitch.model.instances import five_arms
from lastswitch.planning import Plan, plan_block, plan_cycle


def test_the_calendar_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The first line says what the plan is worth and that it is proven."""
    assert main(["plan", "five-arms", "--length", "12"]) == 0
    out = capsys.readouterr().out
    plan = plan_block(five_arms(), 12, start=five_arms().start())
    assert out.startswith(f"12 rounds, worth {plan.value:.5g}")
    assert "proven optimal" in out


def test_json_is_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """What --json prints can be loaded again."""
    assert main(["plan", "five-arms", "--length", "9", "--cycle", "--json"]) == 0
    plan = Plan.from_dict(json.loads(capsys.readouterr().out))
    assert plan.repeats
    assert plan.value == pytest.approx(plan_cycle(five_arms(), 9).value)


@pytest.mark.parametrize(
    ("start", "states"), [("unknown", "unknown"), ("1,2,3,-1,-2", [1, 2, 3, -1, -2])]
)
def test_the_start_can_be_given(
    capsys: pytest.CaptureFixture[str], start: str, states: list[int] | str
) -> None:
    """A state per arm, or unknown: the calibrated objective."""
    command = ["plan", "five-arms", "--length", "6", "--start", start, "--json"]
    assert main([*command, "--solver", "brute-force"]) == 0
    plan = Plan.from_dict(json.loads(capsys.readouterr().out))
    assert plan.value == pytest.approx(plan_block(five_arms(), 6, start=states).value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--start", "1,x"], "got '1,x'"),
        (["--start", "1,0,1,1,1"], "no arm is at 0"),
        (["--start", "1,2"], "start must be 'initial', 'unknown' or 5 integer states"),
        (["--cycle", "--start", "unknown"], "a cycle makes its own start"),
        (["--solver", "magic"], "solver must be one of certified"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """No traceback: the message says what to do."""
    assert main(["plan", "five-arms", "--length", "4", *options]) == 2
    err = capsys.readouterr().err
    assert err.startswith("lastswitch: ")
    assert message in err


def test_the_command_plans_what_the_library_plans(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a start both mean the bandit's own."""
    assert main(["plan", "five-arms", "--length", "12", "--json"]) == 0
    plan = Plan.from_dict(json.loads(capsys.readouterr().out))
    assert plan.value == plan_block(five_arms(), 12).value
    assert plan.value > plan_block(five_arms(), 12, start="unknown").value
