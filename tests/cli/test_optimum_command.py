"""``lastswitch optimum`` translates; the library answers."""

import json

import pytest
import typer
from typer.testing import CliRunner

from lastswitch.cli.optimum import optimum
from lastswitch.errors import LastSwitchError


def run(*arguments):
    """Run the command alone and return what it prints."""
    app = typer.Typer()
    app.command()(optimum)
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_best_average_and_its_cycle_are_printed():
    """The text says the fraction, that it is proven, and what to repeat."""
    text = run("pinwheel:2,3")
    assert "0.75 = 3/4 (proven optimal)" in text
    assert "repeat: " in text


def test_a_horizon_gives_the_best_total():
    """The JSON of a total names every round's arm."""
    best = json.loads(run("two-arms", "--horizon", "100", "--json"))
    assert best["optimal"]
    assert best["horizon"] == len(best["block"]) == 100


def test_a_long_sequence_is_shortened():
    """The terminal shows the first rounds and how many there are."""
    assert "(100 rounds)" in run("two-arms", "--horizon", "100")


def test_a_limit_on_the_length_gives_the_best_short_cycle():
    """Three rounds of the pinwheel [2, 3] earn two thirds."""
    best = json.loads(run("pinwheel:2,3", "--max-length", "3", "--json"))
    assert best["per_round"] == pytest.approx(2 / 3)


def test_two_questions_at_once_are_refused():
    """A horizon and a length limit exclude each other."""
    with pytest.raises(LastSwitchError, match="give one"):
        run("two-arms", "--horizon", "10", "--max-length", "3")
