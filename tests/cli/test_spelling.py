"""Errors and notices name parameters as whoever called writes them."""

import pickle

import pandas as pd
import pytest

import lastswitch as ls
from lastswitch._utils.spelling import spelled, spelled_as
from lastswitch.cli import main
from lastswitch.errors import InfeasibleError, LastSwitchError, LogError, MissingExtraError

WRONG = {
    "every": ({"every": "soon"}, "every must be a whole number and a unit"),
    "day_starts": ({"every": "1d", "day_starts": "4"}, "day_starts must be a time of day"),
    "max_rest": ({"max_rest": 0}, "max_rest must be a whole number of at least 1"),
    "min_events": ({"min_events": -1}, "min_events must be a whole number of at least 1"),
    "decimal": ({"decimal": ";"}, "decimal must be '.' or ','"),
    "scale": ({"scale": "log"}, "scale must be one of none, clip, minmax"),
    "time_format": ({"time_format": "%Q"}, "time_format '%Q'"),
    "memory": ({"memory": "lots"}, "memory must be a size"),
}


@pytest.fixture
def events(tmp_path, monkeypatch):
    """Write a small log whose rewards go beyond 1, and stand beside it."""
    monkeypatch.chdir(tmp_path)
    days = pd.date_range("2024-06-01", periods=4).strftime("%Y-%m-%d")
    rows = {"subject": "ann", "time": days, "arm": "jazz", "reward": [0, 1, 2, 5]}
    pd.DataFrame(rows).to_csv("plays.csv", index=False)


@pytest.mark.parametrize(("name", "given", "words"), [(n, *case) for n, case in WRONG.items()])
def test_an_error_carries_its_parameter_and_is_told_in_options(events, capsys, name, given, words):
    """The same error in Python and as an option of the command."""
    with pytest.raises(LastSwitchError, match="^" + words.split(" must")[0]) as caught:
        ls.fit_curves("plays.csv", **given)
    assert caught.value.parameter == name
    assert words in str(caught.value)
    option = "--" + name.replace("_", "-")
    options = [f"--{key.replace('_', '-')}={value}" for key, value in given.items()]
    assert main(["fit", "plays.csv", *options]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"lastswitch: {words.replace(name, option)}")


def test_hints_are_settings_of_the_language_they_are_read_in(events, capsys):
    """What to do, as it can be typed."""
    with pytest.raises(LogError, match=r"use scale='minmax' to map .* or scale='clip'") as caught:
        ls.fit_curves("plays.csv")
    assert caught.value.parameter == "scale"
    assert main(["fit", "plays.csv"]) == 2
    assert "use --scale minmax to map that range to [0, 1], or --scale clip" in (
        capsys.readouterr().err
    )
    assert spelled("scale", "clip") == "scale='clip'"  # the command is over


def test_every_kind_of_value_can_be_spelled():
    """Flags, nothing, words and texts that a shell would cut."""
    options = {"strict": "--strict", "no_subject": "--no-subject", "form": "--format"}
    options |= {"words": "--words", "time": "--time"}
    with spelled_as(options):
        assert spelled("strict", True) == "--strict"
        assert spelled("strict", False) == "no --strict"
        assert spelled("subject", None) == "--no-subject"
        assert spelled("form", "ics") == "--format ics"
        assert spelled("words", {"yes": 1, "no": 0}) == "--words yes=1,no=0"
        assert spelled("time", "%d/%m %H") == "--time '%d/%m %H'"
        assert spelled("other", 1) == "other=1"
    assert spelled("words", {"yes": 1}) == "words={'yes': 1}"


def test_errors_keep_their_parameter_where_they_are_carried_to():
    """Across processes, and beside what some errors carry themselves."""
    for error in (
        LogError("every must ...", parameter="every"),
        InfeasibleError("no", ("rule",), parameter="rules"),
        MissingExtraError("no ibis", name="ibis"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.parameter) == (str(error), error.parameter)
    assert LogError("a round must ...", parameter="a round").parameter is None
    assert again.name == "ibis"
