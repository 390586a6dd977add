"""Policies in files: whole, versioned, refused when they cannot be read."""

import json
import math
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lastswitch as ls
from lastswitch._utils.codec import load_json, save_json, unpack_array
from lastswitch.errors import FileError, PolicyError, TellError
from lastswitch.learning import Anytime, FixedCycle, ISICombUCB1, OracleGreedy, Policy, load_policy
from lastswitch.learning.policy.saving import decode, encode


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
    assert [again.ask().arm for _ in range(50)] == [policy.ask().arm for _ in range(50)]


def test_the_file_is_strict_json_with_a_version(tmp_path):
    """Any JSON reader can open it, and it says what it is."""
    policy = OracleGreedy(ls.instances.five_arms(), seed=1)
    policy.tell(policy.ask("ann").id, None)
    path = policy.save(tmp_path / "policy.json")

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    document = json.loads(path.read_text(), parse_constant=refuse)
    assert (document["format"], document["version"]) == ("lastswitch/policy", 2)
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
        ("[" * 100_000, "nested too deep"),
        ('{"format": "lastswitch-policy", "version": 1}', "written by lastswitch 0.1"),
        ('{"format": "lastswitch/policy", "version": 99}', "version 99"),
        ('{"format": "lastswitch/policy", "version": 2}', "does not match its digest"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, text, message):
    """Cut, foreign, older, newer or changed files are refused by name."""
    path = tmp_path / "policy.json"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        load_policy(path)


def rewritten(path, change):
    """Write ``path`` again with ``change`` made to its content, under a digest made anew."""
    content = load_json(path, "policy", 2)
    change(content)
    return save_json(path, "policy", 2, content)


@pytest.fixture(name="path")
def saved_path(tmp_path):
    """Return the file of a policy in mid-run."""
    policy = OracleGreedy(ls.instances.five_arms())
    policy.tell(policy.ask("ann").id, 1.0)
    policy.ask("bob")
    policy.ask("cid", confirm=False)
    return policy.save(tmp_path / "policy.json")


@pytest.mark.parametrize(
    "key",
    ["type", "parameters", "learned", "generator", "tracks", "open", "spans", "rewards"],
)
def test_a_file_without_one_of_its_parts_is_refused(path, key):
    """Whatever part is missing, the file is called damaged, even if its digest is right."""
    rewritten(path, lambda content: content.pop(key))
    with pytest.raises(FileError, match="damaged"):
        load_policy(path)


def _item(*keys, value):
    """Return a change that puts ``value`` in one place."""

    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _item("type", value="Nobody"),
        _item("type", value=["OracleGreedy"]),
        _item("generator", "bit_generator", value="MT19937"),
        _item("generator", "state", "state", value=-1),
        _item("tracks", 0, 1, value=[1, 1]),
        _item("tracks", 0, 3, value=2**70),
        _item("tracks", 0, 5, value=9),
        _item("tracks", 0, 0, value="half a \ud800character"),
        _item("rewards", "$array", value="AAAA"),
        _item("rewards", "shape", value=[2**40]),
        _item("open", 0, 0, value="elsewhere-77"),
        _item("open", 0, 1, value=5),
        _item("spans", 0, 2, value=1),
        _item("proposals", 0, 1, value=-1),
        _item("learned", "draws", value=["a"]),
        _item("parameters", "seed", value="zero"),
    ],
)
def test_parts_that_do_not_go_together_are_not_loaded(path, change):
    """A right digest does not make a wrong content right."""
    try:
        rewritten(path, change)
    except FileError:
        return  # what no file can hold
    with pytest.raises(FileError):
        load_policy(path)


@pytest.mark.parametrize(
    "parameters", [{"n_arms": 10**9}, {"n_arms": 10**5, "max_depth": 10**5}, {"width": 10**9}]
)
def test_a_small_file_cannot_ask_for_a_large_memory(tmp_path, parameters):
    """What would take gigabytes is refused before it is taken."""
    path = ls.RotationUCB(3).save(tmp_path / "policy.json")
    rewritten(path, lambda content: content["parameters"].update(parameters))
    with pytest.raises(FileError, match="at most"):
        load_policy(path)


FIVE = ls.instances.five_arms()
MUTATED = {
    "FixedCycle": lambda: FixedCycle([0, 1, 2]),
    "OracleGreedy": lambda: OracleGreedy(FIVE),
    "ISICombUCB1": lambda: ISICombUCB1(3, 3),
    "CombUCB1": lambda: ls.learning.CombUCB1(3, 2, streaks=True),
    "CalibratedCombUCB1": lambda: ls.learning.CalibratedCombUCB1(3, 2),
    "DoublePlayCombUCB1": lambda: ls.learning.DoublePlayCombUCB1(3, 2),
    "Anytime": lambda: Anytime(partial(ISICombUCB1, 3), first=8),
    "RotationUCB": lambda: ls.RotationUCB(3, depth=3, max_depth=5, lookahead=5, width=4),
    "RotationUCB, prior": lambda: ls.RotationUCB(
        5, depth=3, max_depth=5, lookahead=5, width=4, prior=ls.Prior.from_bandit(FIVE, 9, 4)
    ),
    "UCB1": lambda: ls.learning.UCB1(3),
    "ThompsonSampling": lambda: ls.learning.ThompsonSampling(3),
    "RAWUCB": lambda: ls.learning.RAWUCB(3),
    "BlockingUCB": lambda: ls.learning.BlockingUCB(3, [3, 2, 1]),
    "BlockingGreedy": lambda: ls.learning.BlockingGreedy([0.5, 0.2, 0.1], [3, 2, 1]),
    "FrequencyPolicy": lambda: ls.learning.FrequencyPolicy(FIVE, depth=4, runs=2),
    "ExploreThenCommit": lambda: ls.learning.ExploreThenCommit(3, 30, depth=2),
    "Lookahead": lambda: ls.learning.Lookahead(3, depth=4),
}
WRONG = [None, True, -1, 0, 1, 7, 10**6, 2**63, 0.5, -2.5, math.inf, "", "x", [], [1], {}]


def played(policy):
    """Return ``policy`` after some plays, with pulls of every kind."""
    for turn in range(12):
        pull = policy.ask(("ann", 3)[turn % 2])
        if turn % 4:
            policy.tell(pull.id, float(turn % 3 == 0))
    policy.advance("ann", 5)
    policy.ask("bob", confirm=False)
    return policy


def mutate(value, rng):
    """Change one value somewhere in ``value``; return it."""
    if isinstance(value, dict | list) and value and rng.random() < 0.95:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value[key] = mutate(value[key], rng)
        return value
    if isinstance(value, np.ndarray) and value.size and rng.random() < 0.9:
        changed = value.copy()
        changed.flat[rng.randrange(value.size)] = rng.choice([-1, 0, 3, 99])
        return changed if rng.random() < 0.8 else changed[..., :-1]
    return rng.choice(WRONG)


def used(policy, folder):
    """Do with ``policy`` whatever can be done."""
    for subject in (*policy.subjects[:4], "new"):
        for pull in (policy.ask(subject), policy.ask(subject, allowed=[0])):
            policy.tell(pull.id, policy.rewards[1])
    for pull in policy.outstanding:
        policy.tell(pull.id, policy.rewards[0])
    for pull in policy.proposed:
        policy.confirm(pull.id)
    policy.save(folder / "again.json")


def mutations(name, folder, count):
    """Load ``count`` changed files of one policy, use what loads, and tell how many did."""
    path, rng, loaded = folder / "policy.json", random.Random(name), 0
    played(MUTATED[name]()).save(path)
    whole = load_json(path, "policy", 2)
    for _ in range(count):
        content = encode(mutate(decode_arrays(whole), rng))
        if not isinstance(content, dict):
            continue
        try:
            save_json(path, "policy", 2, content)
            policy = load_policy(path)
        except FileError:
            continue
        loaded += 1
        used(policy, folder)
    return loaded


@pytest.mark.parametrize("name", MUTATED)
def test_a_changed_value_is_refused_or_harmless(name, tmp_path):
    """With a digest made anew, a changed file is refused, or gives a policy that works."""
    used(played(MUTATED[name]()), tmp_path)
    assert mutations(name, tmp_path, 60) < 50


@pytest.mark.parametrize("schedule", [[], {}, [[1, 1, 0, [0.5]]], [[0, 0, 0, []]] * 5])
def test_a_schedule_that_cannot_be_followed_is_not_loaded(schedule, tmp_path):
    """A policy of known curves always has one, with a pattern of some rounds for every arm."""
    path = MUTATED["FrequencyPolicy"]().save(tmp_path / "policy.json")
    load_policy(path)
    rewritten(path, _item("learned", "schedule", value=schedule))
    with pytest.raises(FileError, match=r"damaged.*pattern"):
        load_policy(path)


def decode_arrays(value):
    """Return a copy of a file's content in which arrays are arrays."""
    if isinstance(value, dict):
        if "$array" in value:
            return unpack_array(value, "test")
        return {key: decode_arrays(item) for key, item in value.items()}
    return [decode_arrays(item) for item in value] if isinstance(value, list) else value


def test_a_changed_byte_is_refused_or_makes_no_difference(tmp_path):
    """Thousands of files with bytes changed, cut or doubled: each is refused or loads as equal."""
    path, rng = tmp_path / "policy.json", random.Random(0)
    whole = played(FixedCycle([0, 1, 2])).save(path).read_bytes()
    plain = load_json(path, "policy", 2)
    equal = 0
    for _ in range(3000):
        at, other = rng.randrange(len(whole)), rng.randrange(len(whole))
        changed = rng.choice(
            [
                whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :],
                whole[:at],
                whole[: min(at, other)] + whole[max(at, other) :],
                whole[:at] + whole[other : other + 20] + whole[at:],
                whole[:at] + b" " + whole[at:],
            ]
        )
        path.write_bytes(changed)
        try:
            again = load_policy(path)
        except FileError:
            continue
        equal += 1
        assert load_json(again.save(tmp_path / "again.json"), "policy", 2) == plain
    assert equal > 0


def test_a_policy_killed_before_it_was_saved_does_not_reuse_its_ids(tmp_path):
    """Ann's late reward is refused by name, not credited to Bob."""
    path = FixedCycle([0, 1]).save(tmp_path / "policy.json")
    lost = load_policy(path).ask("ann")
    again = load_policy(path)
    bob = again.ask("bob")
    assert bob.id != lost.id
    with pytest.raises(TellError, match=f"{lost.id}' is not one that this policy asked.*last save"):
        again.tell(lost.id, 1.0)
    assert again.outstanding == [bob]


def test_ids_of_every_run_stay_valid(tmp_path):
    """Pulls asked before, between and after loads are told, and repeated, under their ids."""
    policy, path, pulls = FixedCycle([0, 1]), tmp_path / "policy.json", []
    for _ in range(4):
        pulls += [policy.ask(), policy.ask()]
        policy.cancel(policy.ask(confirm=False).id)
        proposed = policy.ask(confirm=False)
        policy = load_policy(policy.save(path))
        policy.confirm(proposed.id)
        pulls += [proposed, policy.ask()]
    assert len({pull.id for pull in pulls}) == len(pulls) == policy.n_asked
    for k, pull in enumerate(pulls):
        policy.tell(pull.id, k / 100)
    policy = load_policy(policy.save(path))
    for k, pull in enumerate(pulls):
        policy.tell(pull.id, k / 100)
        with pytest.raises(TellError, match="already told"):
            policy.tell(pull.id, 0.5)


def test_a_file_that_has_moved_on_is_not_written_over(tmp_path):
    """Of two policies that go on from one file, the second to save is told so."""
    path = FixedCycle([0, 1]).save(tmp_path / "policy.json")
    first, second = load_policy(path), load_policy(path)
    first.ask("ann")
    first.save(path)
    second.ask("bob")
    before = path.read_bytes()
    with pytest.raises(FileError, match=r"has moved on.*another name"):
        second.save(path)
    assert path.read_bytes() == before
    second.save(tmp_path / "other.json")
    first.ask("ann")
    first.save(path)
    path.unlink()
    second.save(path)


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


#: Files that 0.2 wrote after 40 rounds, and the arms of the six rounds that followed there.
WRITTEN_BY_0_2 = {
    "plain": [(0,), (2,), (2,), (2,), (2,), (2,)],
    "unruled": [(2,)] * 6,
    "ruled": [(0, 1), (1, 2), (0, 2), (1, 2), (0, 1), (1, 2)],
}


@pytest.mark.parametrize("name", WRITTEN_BY_0_2)
def test_learners_saved_by_an_earlier_version_go_on(name):
    """A learner that kept rules was a class of its own then; what it proposed still stands."""
    policy = load_policy(Path(__file__).parent / "files" / f"policy-0.2-{name}.json")
    assert {pull.subject for pull in policy.proposed} == {"cid"}
    rounds = [tuple(pull.arm for pull in policy.ask_round("ann")) for _ in range(6)]
    assert rounds == WRITTEN_BY_0_2[name]
    for pull in policy.outstanding:
        policy.tell(pull.id, 0.5)
    assert not policy.learner.books.pending.any()
