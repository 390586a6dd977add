"""Bandits as files: exact there and back, and errors that point at the arm and key."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import Bandit, Curve
from lastswitch.errors import FileError
from lastswitch.model.curves import SHAPES, constant, periodic, recovering, satiating, spike, step
from lastswitch.model.files import (
    VERSION,
    bandit_from_dict,
    bandit_to_dict,
    find_bandit,
    load_bandit,
)
from lastswitch.model.instances import five_arms, instance
from strategies import curves

SUFFIXES = pytest.mark.parametrize("suffix", [".toml", ".json"])
RADIO = """
noise = "gaussian"
sigma = 0.2
initial = [1, -2, 3]

[[arms]]
name = "jazz"
rest = [0.2, 0.5, 0.9]
streak = [0.3, 0.1]

[[arms]]
name = "talk"
shape = "step"
at = 3
high = 0.8

[[arms]]
name = "news"
delays = [0.1, 0.5, 0.9]
"""


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a text to a file and gives its path."""

    def write(text: str, name: str = "radio.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@st.composite
def any_bandit(draw):
    """Draw a bandit with every setting a file can hold, odd names and floats included."""
    arms = draw(st.lists(curves(), min_size=1, max_size=3))
    exact = st.floats(0, 1)
    arms.append(
        Curve(draw(st.lists(exact, min_size=1)), draw(st.lists(exact, min_size=1)), monotone=False)
    )
    size = len(arms)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    names = draw(st.lists(text, min_size=size, max_size=size, unique=True))
    nonzero = st.integers(-(2**40), 2**40).filter(bool)
    initial = draw(nonzero | st.lists(nonzero, min_size=size, max_size=size))
    noise = draw(st.sampled_from(["bernoulli", "gaussian", "none"]))
    return Bandit(arms, noise, names, initial, draw(st.floats(0, 10)))


@SUFFIXES
@settings(max_examples=50)  # each writes a file and waits for the disk
@given(bandit=any_bandit())
def test_saving_and_loading_gives_the_same_bandit(suffix, bandit):
    """Every value comes back bit for bit, and so does the leave to rise."""
    with tempfile.TemporaryDirectory() as folder:
        back = load_bandit(bandit.save(Path(folder) / f"bandit{suffix}"))
    assert back == bandit
    assert [c.monotone for c in back.curves] == [c.monotone for c in bandit.curves]


@settings(max_examples=50)
@given(bandit=any_bandit())
def test_the_dictionary_is_plain_json(bandit):
    """What is written needs nothing but lists, strings and numbers."""
    data = bandit_to_dict(bandit)
    assert json.loads(json.dumps(data)) == data
    assert bandit_from_dict(data) == bandit


def test_a_hand_written_file_means_what_it_says(written):
    """The three ways to give a curve, and every top-level key."""
    arms = [Curve([0.2, 0.5, 0.9], [0.3, 0.1]), step(3, 0.8), Curve.from_delays([0.1, 0.5, 0.9])]
    radio = Bandit(arms, "gaussian", ["jazz", "talk", "news"], [1, -2, 3], 0.2)
    assert load_bandit(written(RADIO)) == radio


@pytest.mark.parametrize(
    ("text", "curve"),
    [
        ('shape = "constant"\npay = 1', constant(1.0)),
        ('shape = "step"\nat = 3\nhigh = 0.8\nlow = 0.1', step(3, 0.8, 0.1)),
        ('shape = "spike"\nat = 2\nhigh = 1', spike(2, 1.0)),
        ('shape = "periodic"\nvalues = [0, 1, 0.5]\nstreak = 0.2', periodic([0, 1, 0.5], 0.2)),
        ('shape = "periodic"\nvalues = [0, 1]\nstreak = [0.2, 0]', periodic([0, 1], [0.2, 0])),
        ('shape = "satiating"\nfresh = 0.8\nfloor = 0.2\nafter = 3', satiating(0.8, 0.2, 3)),
        ('shape = "recovering"\nceiling = 0.8\nafter = 4', recovering(0.8, 4)),
        ("rest = 0.5\nstreak = 0", Curve([0.5], [0])),
        ('rest = [0.1, 0.9]\nstreak = 0\ntail = "repeat"', periodic([0.1, 0.9], 0)),
        ("rest = 1\nstreak = [0, 1]\nmonotone = false", Curve([1], [0, 1], monotone=False)),
        ('delays = [0, 0.3, 0.4]\ntail = "repeat"', periodic([0.3, 0.4], 0)),
    ],
)
def test_arms_can_be_written_in_short(written, text, curve):
    """One number stands for a list of one, and every named shape takes its own parameters."""
    assert load_bandit(written(f"[[arms]]\n{text}\n")).curves == (curve,)


def test_every_shape_of_the_library_is_known_to_files():
    """The parametrised test above leaves no shape out."""
    assert set(SHAPES) == {"constant", "step", "spike", "periodic", "satiating", "recovering"}


def test_toml_lists_stay_on_one_line(tmp_path):
    """A saved file reads like a written one."""
    text = five_arms().save(tmp_path / "five.toml").read_text()
    assert "rest = [0.0, 0.95, 0.0]\nstreak = [0.0]\n" in text


def test_json_may_hold_what_toml_holds(written):
    """Shapes and delays are read from JSON too."""
    path = written('{"arms": [{"shape": "step", "at": 2, "high": 1}]}', "radio.json")
    assert load_bandit(path).curves == (step(2, 1.0),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arms = [", "is not valid TOML"),
        ("", "must hold at least one [[arms]] table, got None"),
        ("arms = []", "must hold at least one [[arms]] table, got []"),
        ('arms = "jazz"', "must hold at least one [[arms]] table, got 'jazz'"),
        ("arms = [3]", "arms[0] must be a table, got 3"),
        ("version = 2", "key 'version' is 2, but this release reads version 1; upgrade lastswitch"),
        ("version = 0", "key 'version' is 0, but this release reads version 1; write version = 1"),
        ("version = '1'", "key 'version' is '1', but this release reads version 1"),
        ("version = true", "key 'version' is True, but this release reads version 1"),
        ("nois = 'none'\narms = [3]", "has the unknown key 'nois' (did you mean 'noise'?)"),
    ],
)
def test_a_file_that_holds_no_bandit_is_refused(written, text, message):
    """The message begins with the file and says what is wrong in it."""
    with pytest.raises(FileError, match=rf"radio\.toml.*{re.escape(message)}"):
        load_bandit(written(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise = 'loud'", "noise must be one of bernoulli, gaussian, none, got 'loud'"),
        ("sigma = 'x'", "key 'sigma' must be a number, got 'x'"),
        ("sigma = -1", "sigma must be a number, at least 0, got -1"),
        ("initial = 0", "arm 'jazz' cannot start at tau 0"),
        ("initial = 1.5", "initial must be an integer, or one per arm; got 1.5"),
        ("initial = [1, 2]", "initial must be one integer, or one per arm (1); got [1, 2]"),
        ("initial = [1, [2]]", "initial must be an integer, or one per arm; got [1, [2]]"),
    ],
)
def test_a_wrong_setting_is_refused(written, text, message):
    """The message names the key and repeats the value."""
    arm = '\n[[arms]]\nname = "jazz"\nrest = 1\nstreak = 0\n'
    with pytest.raises(FileError, match=rf"radio\.toml: {re.escape(message)}"):
        load_bandit(written(text + arm))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 3\nrest = 1\nstreak = 0", ", key 'name' must be a string, got 3"),
        ("rset = [1]\nstreak = 0", " ('arm 1') has the unknown key 'rset' (did you mean 'rest'?)"),
        ("rest = 1\nstreak = 0\ncolour = 3", " ('arm 1') has the unknown key 'colour'; known keys"),
        ("streak = 0", " ('arm 1') does not say what it pays: give rest and streak, or delays"),
        ("rest = 1", " ('arm 1'), key 'streak' is missing"),
        ("rest = 1\nstreak = 0\ndelays = 1", " ('arm 1') gives its curve in more than one way"),
        (
            "rest = [1, 'a']\nstreak = 0",
            " ('arm 1'), key 'rest', entry 1 must be a number, got 'a'",
        ),
        ("rest = [true]\nstreak = 0", " ('arm 1'), key 'rest', entry 0 must be a number, got True"),
        ("rest = []\nstreak = 0", " ('arm 1'), rest must be a list with at least one number"),
        ("rest = [0, 1.5]\nstreak = 0", " ('arm 1'), rest must lie in [0, 1], got 1.5 at tau 2"),
        ("rest = [nan]\nstreak = 0", " ('arm 1'), rest must lie in [0, 1], got nan at tau 1"),
        ("rest = 0\nstreak = [0, 1]", " ('arm 1'), streak must not rise: tau -1 pays 0.0"),
        ("rest = 0\nstreak = 0\ntail = 'wag'", " ('arm 1'), tail must be one of hold, repeat, got"),
        ("rest = 0\nstreak = 0\nmonotone = 1", ", key 'monotone' must be true or false, got 1"),
        ("delays = [0, 2]", " ('arm 1'), delays must lie in [0, 1], got 2.0 at delay 2"),
        ("delays = 0\nstreak = 0", " ('arm 1') has the unknown key 'streak'"),
        ("shape = 'stp'", ", got 'stp' (did you mean 'step'?)"),
        ("shape = ['step']", " ('arm 1'), key 'shape' must be one of constant, step,"),
        ("shape = 'step'\nat = 2", ", key 'high' is missing: shape 'step' needs at, high"),
        ("shape = 'step'\nat = 2\nhihg = 1", ", shape 'step' has the unknown key 'hihg'"),
        ("shape = 'step'\nat = 2.5\nhigh = 1", ", shape 'step': at must be a whole number"),
        ("shape = 'step'\nat = 2\nhigh = '1'", ", key 'high' must be a number, got '1'"),
        ("shape = 'step'\nat = 2\nhigh = 3", ", shape 'step': rest must lie in [0, 1], got 3.0"),
    ],
)
def test_a_wrong_arm_is_pointed_at(written, text, message):
    """The message names the file, the arm and the key."""
    good = '[[arms]]\nname = "jazz"\nrest = 1\nstreak = 0\n\n'
    with pytest.raises(FileError, match=rf"radio\.toml: arms\[1\].*{re.escape(message)}"):
        load_bandit(written(f"{good}[[arms]]\n{text}\n"))


def test_two_arms_of_one_name_are_refused(written):
    """Names are how people and plans refer to arms."""
    with pytest.raises(FileError, match="'jazz' more than once"):
        load_bandit(written('[[arms]]\nname="jazz"\nrest=1\nstreak=0\n' * 2))


def test_long_values_are_not_repeated_in_full(written):
    """An error fits on a screen even when the file does not."""
    with pytest.raises(FileError) as caught:
        load_bandit(written(f"arms = '{'x' * 5000}'"))
    assert len(str(caught.value)) < 400


def test_broken_json_is_refused_with_its_place(written):
    """The parser's line and column are passed on."""
    with pytest.raises(FileError, match=r"is not JSON: .*line 1"):
        load_bandit(written('{"arms": ', "radio.json"))


def test_json_that_is_no_table_is_refused(written):
    """A list is not a bandit."""
    with pytest.raises(FileError, match=re.escape("must hold a table with [[arms]], got [1]")):
        load_bandit(written("[1]", "radio.json"))


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    """The path is repeated."""
    with pytest.raises(FileError, match=r"nowhere\.toml does not exist"):
        load_bandit(tmp_path / "nowhere.toml")


def test_a_folder_is_not_a_file(tmp_path):
    """Reading a folder names it."""
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(FileError, match=r"folder\.toml is a folder"):
        load_bandit(tmp_path / "folder.toml")


def test_bytes_that_are_not_text_are_refused(tmp_path):
    """A file must be UTF-8."""
    path = tmp_path / "radio.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="is not text in UTF-8"):
        load_bandit(path)


@pytest.mark.parametrize("action", [load_bandit, five_arms().save])
def test_an_unknown_suffix_is_refused(tmp_path, action):
    """The suffix says how a file is written, so it must be one of two."""
    with pytest.raises(FileError, match=r"must end in \.toml or \.json"):
        action(tmp_path / "radio.yaml")
    assert not list(tmp_path.iterdir())


def test_saving_into_a_missing_folder_is_refused(tmp_path):
    """The folder is named, and nothing is made."""
    with pytest.raises(FileError, match=r"the folder .*missing does not exist"):
        five_arms().save(tmp_path / "missing" / "five.toml")


@SUFFIXES
def test_the_version_is_written(tmp_path, suffix):
    """A later release can tell what it reads."""
    path = five_arms().save(tmp_path / f"five{suffix}")
    assert re.search(rf"version\"?\s*[:=]\s*{VERSION}\b", path.read_text())


def test_a_text_stands_for_a_file_or_an_instance(written):
    """Commands take either."""
    assert find_bandit(str(written(RADIO))).names == ("jazz", "talk", "news")
    assert find_bandit("pinwheel:2,4,4") == instance("pinwheel:2,4,4")


def test_a_text_that_stands_for_nothing_lists_what_would(tmp_path):
    """The nearest name is suggested, and every instance is shown."""
    with pytest.raises(FileError, match=r"did you mean 'five-arms'\?.*pinwheel:2,4,8,8"):
        find_bandit("five-arm")
    with pytest.raises(FileError, match=r"radio\.toml does not exist"):
        find_bandit(str(tmp_path / "radio.toml"))


def test_saved_json_is_stamped_and_its_damage_noticed(tmp_path):
    """A changed number is an error in a saved file, and a fact in one written by hand."""
    file = five_arms().save(tmp_path / "five.json")
    data = json.loads(file.read_text())
    assert data["format"] == "lastswitch/bandit"
    data["arms"][0]["rest"][1] = 0.9
    file.write_text(json.dumps(data))
    with pytest.raises(FileError, match="damaged or was edited by hand"):
        load_bandit(file)
    file.write_text(json.dumps({"arms": data["arms"]}))
    assert load_bandit(file).curves[0](2) == 0.9


def test_another_saved_thing_is_called_by_its_name(tmp_path):
    """A policy is not a bandit; the message says what loads it."""
    file = ls.FixedCycle([0, 1]).save(tmp_path / "policy.json")
    with pytest.raises(FileError, match=r"is a (saved )?policy"):
        load_bandit(file)


@SUFFIXES
def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path, suffix):
    """Some editors leave one."""
    file = five_arms().save(tmp_path / f"five{suffix}")
    file.write_text(file.read_text(), encoding="utf-8-sig")
    assert load_bandit(file) == five_arms()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("deep.toml", "a = " + "[" * 100_000, "nested too deep"),
        ("deep.json", "[" * 100_000, "nested too deep"),
        (
            "half.json",
            '{"arms": [{"name": "\\ud800", "rest": 1, "streak": 0}]}',
            "must be a string",
        ),
        ("long.toml", "[[arms]]\nrest = 1\nstreak = " + "9" * 400, "too large a number"),
        ("long.json", '{"arms": [{"rest": ' + "9" * 5000 + "}]}", "is not JSON"),
        ("nan.json", '{"arms": [{"rest": NaN, "streak": 0}]}', "bare word NaN"),
        ("huge.toml", "[[arms]]\nshape='step'\nat=1000000000000\nhigh=1", "at most 1000000"),
        ("many.toml", "[[arms]]\nshape='step'\nat=900000\nhigh=1\n" * 50, "more than 4,000,000"),
        ("start.toml", f"initial = {2**70}\n[[arms]]\nrest = 1\nstreak = 0", "initial must be"),
    ],
)
def test_a_small_file_cannot_ask_for_too_much(written, name, text, message):
    """Depth, digits, halves of characters and declared sizes all have their words."""
    with pytest.raises(FileError, match=message):
        load_bandit(written(text, name))


def test_a_name_no_file_can_hold_is_refused_when_saving(tmp_path):
    """And nothing is left behind."""
    for suffix in (".toml", ".json"):
        with pytest.raises(FileError, match="half a character"):
            Bandit([constant(0.5)], names=["\ud800"]).save(tmp_path / f"bad{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_plan_round_trips_with_its_certificate(tmp_path):
    """A loaded plan has the block, the bound and the problem of the one saved."""
    plan = ls.plan_block(ls.instances.five_arms(), 8, start=[1, 1, 1, -1, 2])
    loaded = ls.load_plan(plan.save(tmp_path / "plan.json"))
    assert (loaded.block, loaded.value, loaded.bound) == (plan.block, plan.value, plan.bound)
    assert loaded.problem.value(loaded.block) == plan.value
    assert str(loaded) == str(plan)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", r"one object, got \[1\]"),
        ('{"format": "x"}', "got 'x'"),
        ("{", "not JSON"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path, text, message):
    """The message says what the file holds instead."""
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(FileError, match=message):
        ls.load_plan(tmp_path / "plan.json")
