"""Policies in files: whole, versioned, refused when they cannot be read."""

import json
import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import FileError, PolicyError
from lastswitch.learning import Anytime, FixedCycle, ISICombUCB1, OracleGreedy, Policy, load_policy
from lastswitch.learning.saving import decode, encode


class Drifting(Policy):
    """Plays at random, weighted by what it has learned; a policy from outside the library."""

    shared = ("weights",)

    def __init__(self, n_arms, seed=0):
        super().__init__(n_arms, seed=seed)
        self.weights = np.ones(n_arms)

    def choose(self, track, allowed):
        """Draw an arm."""
        weights = self.weights if allowed is None else self.weights * allowed
        return int(self.rng.choice(self.n_arms, p=weights / weights.sum()))

    def learn(self, pull, reward, note):
        """Raise the weight of what paid."""
        self.weights[pull.arm] += reward


def test_a_policy_from_outside_resumes_with_its_generator(tmp_path):
    """Arrays and the generator's state come back bit for bit."""
    policy = Drifting(4, seed=5)
    for _ in range(30):
        pull = policy.ask()
        policy.tell(pull.id, pull.arm / 3)
    again = load_policy(policy.save(tmp_path / "policy.json"))
    assert again.weights.tobytes() == policy.weights.tobytes()
    assert [again.ask() for _ in range(50)] == [policy.ask() for _ in range(50)]


def test_the_file_is_strict_json_with_a_version(tmp_path):
    """Any JSON reader can open it, and it says what it is."""
    policy = OracleGreedy(ls.instances.five_arms(), seed=1)
    policy.tell(policy.ask("ann").id, None)
    path = policy.save(tmp_path / "policy.json")

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    document = json.loads(path.read_text(), parse_constant=refuse)
    assert (document["format"], document["version"]) == ("lastswitch-policy", 1)
    assert document["type"] == "OracleGreedy"


def test_a_bandit_inside_a_policy_is_saved_with_it(tmp_path):
    """The greedy oracle keeps its curves."""
    bandit = ls.Bandit([ls.curves.periodic([0.1, 0.9], 0.0), ls.curves.constant(0.4)], initial=-1)
    again = load_policy(OracleGreedy(bandit).save(tmp_path / "policy.json"))
    assert again.bandit == bandit
    assert again.track().state() == [-1, -1]


def test_a_factory_inside_a_policy_is_saved_with_it(tmp_path):
    """A partial of a policy class is rebuilt with its arguments; a lambda cannot be."""
    policy = Anytime(partial(ISICombUCB1, 3, alpha=0.7), first=64)
    again = load_policy(policy.save(tmp_path / "policy.json"))
    assert (again.inner.n_arms, again.inner.alpha, again.inner.horizon) == (3, 0.7, 64)
    unsaved = Anytime(lambda horizon: ISICombUCB1(3, horizon=horizon))
    with pytest.raises(PolicyError, match="cannot be saved"):
        unsaved.save(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()


@pytest.mark.parametrize(
    "value",
    [math.inf, -math.inf, [1, 2.5, None, "x", True], {"a": {"b": [math.inf]}}, 2**100, 0.1 + 0.2],
)
def test_values_survive_the_file(value):
    """What goes in comes out, infinities and long integers too."""
    assert decode(json.loads(json.dumps(encode(value), allow_nan=False))) == value


def test_nan_and_arrays_survive_the_file():
    """Arrays keep their type and shape, NaN stays NaN."""
    array = np.array([[1.5, math.nan, -0.0]], dtype=np.float32)
    again = decode(json.loads(json.dumps(encode([array, math.nan]), allow_nan=False)))
    assert again[0].dtype == array.dtype
    assert again[0].tobytes() == array.tobytes()
    assert again[0].shape == (1, 3)
    assert math.isnan(again[1])


def test_a_fresh_process_finds_the_class_a_file_names(tmp_path):
    """Our own policies need no import before they are loaded, also those that load on use."""
    path = ls.RotationUCB(3).save(tmp_path / "policy.json")
    code = f"import lastswitch; print(type(lastswitch.load_policy({str(path)!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "RotationUCB"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a saved policy"),
        ('{"format": "lastswitch-policy", "version": 99}', "version 99"),
        ('{"format": "lastswitch-policy", "version": 1, "type": "Nobody"}', "Nobody"),
        ('{"format": "lastswitch-policy", "version": 1, "type": "a.b.C"}', "import a.b first"),
        ('{"format": "lastswitch-policy", "version": 1}', "damaged"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, text, message):
    """Cut, foreign, newer or unknown files are refused by name."""
    path = tmp_path / "policy.json"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        load_policy(path)


@pytest.fixture(name="document")
def saved_document(tmp_path):
    """Return what the file of a policy in mid-run holds."""
    policy = OracleGreedy(ls.instances.five_arms())
    policy.tell(policy.ask("ann").id, 1.0)
    policy.ask("bob")
    return json.loads(policy.save(tmp_path / "whole.json").read_text())


@pytest.mark.parametrize(
    "key", ["type", "parameters", "state", "generator", "tracks", "open", "rewards"]
)
def test_a_file_without_one_of_its_parts_is_refused(document, tmp_path, key):
    """Whatever part is missing, the file is called damaged."""
    del document[key]
    (tmp_path / "part.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="damaged"):
        load_policy(tmp_path / "part.json")


def _other_generator(document):
    document["generator"]["bit_generator"] = "seed"


def _shorter_track(document):
    document["tracks"][0][3].pop()


def _broken_array(document):
    document["rewards"]["$array"] = "AAAA"


def _pull_of_the_future(document):
    document["open"][0][0] = 77


@pytest.mark.parametrize(
    "change", [_other_generator, _shorter_track, _broken_array, _pull_of_the_future]
)
def test_a_file_changed_by_hand_is_refused(document, tmp_path, change):
    """Parts that do not go together are not loaded."""
    change(document)
    (tmp_path / "changed.json").write_text(json.dumps(document))
    with pytest.raises(FileError):
        load_policy(tmp_path / "changed.json")


def test_a_missing_file_says_so(tmp_path):
    """The path is in the message."""
    with pytest.raises(FileError, match=r"nowhere\.json"):
        load_policy(tmp_path / "nowhere.json")


def test_every_subject_comes_back(tmp_path):
    """Names and numbers keep their type, and each its own place in the cycle."""
    policy = FixedCycle([0, 1, 2])
    for subject, plays in ((None, 1), ("1", 2), (1, 3)):
        for _ in range(plays):
            policy.ask(subject)
    again = load_policy(policy.save(tmp_path / "policy.json"))
    assert again.subjects == [None, "1", 1]
    assert [again.ask(subject).arm for subject in (None, "1", 1)] == [1, 2, 0]
    assert again.outstanding[:6] == policy.outstanding
