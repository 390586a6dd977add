"""The table [serve] and the options of serve: what is wrong is named, with what was given."""

import pytest

from lastswitch.cli import main
from lastswitch.errors import ServiceError
from lastswitch.service.rotation import Settings, make_version

WRONG = {
    "lookahead": [0, 1001, 2.5, True, "24", None],
    "decide": ["planned", 1, None, ["plan"]],
    "time_limit": [0, 10.5, float("nan"), "1", 10**400],
    "memory": [0, -1, 2e15, float("inf")],
    "explore": [-0.1, 1.1, "0.5", True],
    "shadow": [1, "true", None],
    "rewards": [[0], [0, 1, 2], "01", [0, True], [0, float("inf")], [0, 10**400], {"low": 0}],
    "window": ["7", "0d", "7 years", 7, ""],
    "stand": [None, "-1h"],
    "ahead": ["3661d", "soon"],
    "missing": ["none", True, float("nan")],
    "subjects": [0, 1.0, 10**13],
}
RIGHT = {
    "lookahead": [1, 1000],
    "decide": ["learner", "plan", "cycle"],
    "time_limit": [10, 0.1],
    "memory": [None, 1, 0.5],
    "explore": [0, 1],
    "shadow": [True],
    "rewards": [[0, 5], (-1.5, 2)],
    "window": ["7d", " 90 min ", None],
    "stand": ["1w"],
    "ahead": ["3660d"],
    "missing": [None, 1, 0.5],
    "subjects": [1, None],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    """Whatever it is: the setting and what was given are in the sentence."""
    for value in WRONG[name]:
        with pytest.raises(ServiceError) as refused:
            Settings.from_dict({name: value})
        words = str(refused.value)
        assert words.startswith("[serve] "), words
        assert name in words, words
        assert words.endswith("."), words


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_taken(name):
    """As it was given, or as the number that it is."""
    for value in RIGHT[name]:
        found = getattr(Settings.from_dict({name: value}), name)
        assert found == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    "given",
    [{"explore": 0.6, "holdout": 0.6}, {"rewards": [1, 0]}, {"missing": 2}, {"hold_out": 0.1}, 3],
    ids=["shares", "range", "missing", "unknown", "no table"],
)
def test_what_does_not_go_together_is_refused(given):
    """Also by the rotation that it is a table of."""
    with pytest.raises(ServiceError, match=r"^\[serve\] "):
        make_version("r", 1, {"arms": [{"name": "a"}], "serve": given})


@pytest.mark.parametrize(
    "option", ["--port=0", "--port=65536", "--workers=0", "--rate=-1", "--subjects=0"]
)
def test_options_out_of_range_are_refused(option, tmp_path, capsys):
    """Before anything is made."""
    assert main(["serve", "--database", str(tmp_path / "a.sqlite"), option]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
