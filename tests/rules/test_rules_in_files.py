"""Groups, rules, plays and silence live in the bandit and in its file."""

from __future__ import annotations

import pickle

import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import BanditError, FileError, InputTypeError, RuleError
from lastswitch.model.files import bandit_from_dict, bandit_to_dict

TEXT = """
plays = [0, 2]
silence = 0.25

[[arms]]
name = "hello"
rest = [0.5]
streak = [0.1]

[[arms]]
name = "skyfall"
rest = [0.5]
streak = [0.1]

[groups]
Adele = ["hello", "skyfall"]

[[rules]]
rule = "apart"
who = "Adele"
rounds = 3

[[rules]]
rule = "at_least"
who = "hello"
plays = 1
every = 7
cost = 0.5
name = "a hit a week"
"""


def radio() -> ls.Bandit:
    """Return what the text says."""
    return ls.Bandit(
        [ls.Curve([0.5], [0.1])] * 2,
        names=["hello", "skyfall"],
        groups={"Adele": ["hello", "skyfall"]},
        rules=[r.apart("Adele", 3), r.at_least("hello", 1, every=7, cost=0.5, name="a hit a week")],
        plays=(0, 2),
        silence=0.25,
    )


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_ruled_bandit_survives_its_file(tmp_path, suffix):
    """Loading what was saved gives an equal bandit."""
    file = radio().save(tmp_path / f"radio{suffix}")
    assert ls.load_bandit(file) == radio()
    assert pickle.loads(pickle.dumps(radio())) == radio()
    assert hash(radio()) == hash(radio())


def test_a_file_a_person_wrote(tmp_path):
    """The keys are the words of the library."""
    file = tmp_path / "radio.toml"
    file.write_text(TEXT)
    assert ls.load_bandit(file) == radio()


def test_a_plain_bandit_writes_nothing_of_it():
    """Files without rules stay as they were."""
    data = bandit_to_dict(ls.Bandit([ls.curves.constant(0.5)]))
    assert not {"groups", "rules", "plays", "silence"} & set(data)
    assert bandit_from_dict(data).plain


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"rules": [{"rule": "apart", "who": "Adelle", "rounds": 3}]}, "did you mean 'Adele'"),
        ({"rules": [{"rule": "apart", "who": "Adele"}]}, r"rules\[0\].*rounds"),
        ({"rules": "apart"}, "tables"),
        ({"groups": {"Adele": ["hallo"]}}, "did you mean 'hello'"),
        ({"plays": 3}, "at most 2, got 3"),
        ({"silence": "none"}, "got 'none'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(change, what):
    """The message names the entry."""
    with pytest.raises(FileError, match=what):
        bandit_from_dict(bandit_to_dict(radio()) | change)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"groups": {"hello": ["hello"]}}, BanditError),
        ({"groups": {"everyone": ["hello"]}}, BanditError),
        ({"groups": {"none": []}}, BanditError),
        ({"groups": [("a", ["hello"])]}, InputTypeError),
        ({"rules": [r.apart("Adele", 3)]}, RuleError),
        ({"rules": r.apart("hello", 3)}, InputTypeError),
        ({"rules": ["apart"]}, InputTypeError),
        ({"plays": 0}, BanditError),
        ({"plays": (2, 1)}, BanditError),
        ({"plays": (0, 1, 2)}, BanditError),
        ({"silence": float("nan")}, BanditError),
    ],
)
def test_a_bandit_that_does_not_fit_is_refused(options, error):
    """Groups, rules, plays and silence are checked when the bandit is made."""
    with pytest.raises(error):
        ls.Bandit([ls.curves.constant(0.5)], names=["hello"], **options)
