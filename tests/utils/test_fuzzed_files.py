"""Whatever a saved file holds, it loads as what it was saved as, or is a named error.

Two attacks on every kind of file: bytes changed anywhere, and single values changed with the
digest made right again, as a program that writes our formats badly would. ``LASTSWITCH_FUZZ=N``
tries N files of each kind.
"""

import io
import json
import os
import random
import warnings
from contextlib import suppress
from datetime import date
from functools import cache

import numpy as np
import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch._utils.codec import array_digest, digest, to_text
from lastswitch.errors import FileError, LastSwitchError
from lastswitch.model.files import bandit_to_dict, load_calendar, to_toml

TRIES = int(os.environ.get("LASTSWITCH_FUZZ", "25"))
JUNK = [
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**53, 2**62, 2**63, 2**70, -(2**63), 10**400),
    *(0.5, -0.0, 1e-320, 1e308, {"$float": "inf"}, {"$float": "nan"}, {"$float": "x"}),
    *("", "a", "+0", "1", "\0", "é" * 40, "hold", "step", "at_most", "2024-06-03", "9999-12-31"),
    *([], [[]], [0], [-1], ["a"], [None], [2**62], [[0, 1], [1, 2]], {}, {"a": 1}, {"rule": []}),
]


def bandit():
    """Return a bandit with everything a file can hold."""
    return ls.Bandit(
        [ls.Curve([0.2, 0.9], [0.1, 0.0]), ls.curves.step(2, 0.5), ([0.4], [0.4])],
        names=["jazz", "talk", "news"],
        groups={"spoken": ["talk", "news"]},
        plays=(0, 2),
        silence=0.05,
        rules=[r.at_most("jazz", 2, within=4), r.apart("spoken", 2, cost=0.1, name="a rest")],
    )


@cache
def learned(kind, subjects):
    """Return a policy that has heard something."""
    policy = kind()
    for t in range(12):
        for subject in range(subjects):
            pull = policy.ask(f"s{subject}")
            policy.tell(pull.id, (t * 7 + subject) % 10 / 10)
    return policy


def noun(kind):
    """Return one thing of each kind that can be saved."""
    if kind == "bandit":
        return bandit()
    if kind == "plan":
        return ls.plan_block(ls.instances.two_arms(), 5)
    if kind == "cycle":
        return ls.plan_cycle(ls.instances.two_arms(), 4)
    if kind == "ruled plan":
        return ls.plan_block(bandit(), 5)
    if kind == "ruled cycle":
        return ls.plan_cycle(bandit(), 4)
    if kind == "comparison":
        cycles = {"a": lambda: ls.FixedCycle([0, 1], initial=-1)}
        return ls.compare(ls.instances.two_arms(), cycles, 20, 2, n_jobs=1, progress=None)
    if kind == "fit":
        small = ls.Bandit([([0.9, 0.2], [0.1])] * 2, names=["jazz", "talk"])
        return ls.fit_curves(ls.logs.simulate(small, subjects=30, rounds=12, seed=0))
    factories = {
        "fixed policy": lambda: ls.FixedCycle([0, 1, 1]),
        "rotation policy": lambda: ls.RotationUCB(2),
        "paper policy": lambda: ls.ISICombUCB1(2, 3, horizon=100),
    }
    return learned(factories[kind], 1 if kind == "paper policy" else 2)


KINDS = {
    "bandit": (".json", ls.load_bandit),
    "plan": (".json", ls.load_plan),
    "cycle": (".json", ls.load_plan),
    "ruled plan": (".json", ls.load_plan),
    "ruled cycle": (".json", ls.load_plan),
    "fixed policy": (".json", ls.load_policy),
    "rotation policy": (".json", ls.load_policy),
    "paper policy": (".json", ls.load_policy),
    "comparison": (".npz", ls.load_comparison),
    "fit": (".fit.npz", ls.load_fit),
}


@pytest.fixture(scope="module", params=KINDS)
def saved(request, tmp_path_factory):
    """Yield a kind, its loader, the bytes of one such file, and a path to write others to."""
    suffix, load = KINDS[request.param]
    file = tmp_path_factory.mktemp("fuzz") / f"saved{suffix}"
    noun(request.param).save(file)
    return request.param, load, file.read_bytes(), file


def outcome(load, file):
    """Return what ``load`` gives and use it as its owner would; or the file error it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = load(file)
        except FileError as error:
            return error
        used(found)
        load(found.save(file))
    return found


def used(found):
    """Print what was loaded and ask it for what it is for; a named error is an answer too."""
    assert str(found)
    assert repr(found)
    if isinstance(found, ls.Comparison):
        assert str(found.table())
    if isinstance(found, ls.logs.CurveFit):
        assert found.bandit.n_arms == len(found.arms)
    if isinstance(found, ls.Policy):
        with suppress(LastSwitchError):
            found.tell(found.ask("s0" if found.subjects else None).id, 0.5)


def leaves(value, path=()):
    """Yield the path of every value inside JSON, containers included."""
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, item in pairs:
        yield from leaves(item, (*path, key))


def changed(rng, content):
    """Return saved content with one value changed, dropped or added, and a digest that fits."""
    content = json.loads(json.dumps(content))
    *way, last = rng.choice([path for path in leaves(content) if path[0] not in STAMP])
    place = content
    for key in way:
        place = place[key]
    what = rng.random()
    if what < 0.1:
        del place[last]
    elif what < 0.2 and isinstance(place, list):
        place.insert(last, rng.choice(JUNK))
    elif what < 0.3 and isinstance(place[last], int | float):
        place[last] *= rng.choice([-1, 2, 10**6, 0.5])
    else:
        place[last] = rng.choice(JUNK)
    content.pop("digest", None)
    body = {key: value for key, value in content.items() if key not in STAMP}
    try:
        return {**content, "digest": digest(body)}
    except OverflowError:  # 10**400 * 0.5
        return changed(rng, content)


STAMP = ("format", "version", "digest")


def restamped(rng, data):
    """Return the bytes of a file with one value changed under a digest that fits."""
    if not data.startswith(b"PK"):
        return to_text(changed(rng, json.loads(data))).encode()
    with np.load(io.BytesIO(data)) as held:
        arrays = {name: held[name] for name in held.files}
    entry = "head" if "head" in arrays else "header"
    text = arrays.pop(entry)
    head = json.loads(text.tobytes().decode() if entry == "head" else str(text))
    if rng.random() < 0.5:
        head = changed(rng, head)
    else:
        name = rng.choice(sorted(arrays))
        arrays[name] = twisted(rng, arrays[name])
        head["arrays"] = array_digest(arrays)
        body = {key: value for key, value in head.items() if key not in STAMP}
        head["digest"] = digest(body)
    text = to_text(head)
    arrays[entry] = np.frombuffer(text.encode(), np.uint8) if entry == "head" else np.array(text)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def twisted(rng, array):
    """Return an array with one value, its type, its shape or its length changed."""
    array, way = array.copy(), rng.randrange(5)
    if way == 0 and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice([-1, 0, 2**40, 5])
    elif way == 1:
        return array.astype(rng.choice([np.float32, np.complex128, np.int8, "U3", bool]))
    elif way == 2:
        return array[..., :-1]
    elif way == 3:
        return array[None]
    elif array.dtype.kind == "f" and array.size:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -1e308, 1e308])
    return array


def test_changed_bytes_are_told(saved):
    """One byte changed, or a piece cut out: what loads is whole, the rest is a FileError."""
    kind, load, data, file = saved
    rng, refused = random.Random(f"bytes {kind}"), 0
    for _ in range(TRIES):
        at = rng.randrange(len(data))
        end = at + (1 if rng.random() < 0.7 else rng.randrange(40))
        file.write_bytes(data[:at] + rng.randbytes(rng.choice([0, 1, 1, 4])) + data[end:])
        found = outcome(load, file)
        refused += isinstance(found, FileError) and len(str(found)) < 1500
    assert refused > TRIES / 2  # a byte of a comment, or between two entries, changes nothing


def test_changed_values_are_told(saved):
    """One value changed with its digest: what loads can be used, the rest is a FileError."""
    kind, load, data, file = saved
    rng = random.Random(f"values {kind}")
    for _ in range(TRIES):
        file.write_bytes(restamped(rng, data))
        outcome(load, file)


def test_one_function_loads_every_kind(saved, tmp_path):
    """Whatever the file is called; what was cut is told as by the kind's own loader."""
    kind, load, data, file = saved
    file.write_bytes(data)
    other = tmp_path / "some.file"
    other.write_bytes(data)
    if kind != "bandit":  # whose suffix says how it is written
        assert type(ls.load(other)) is type(ls.load(file)) is type(load(file))
    assert repr(ls.load(file)) == repr(load(file))
    other.write_bytes(data[: len(data) // 2])
    with pytest.raises(FileError, match=r"some\.file"):
        ls.load(other)


def test_what_nobody_saved_is_told(tmp_path):
    """Other people's files, files for other programs, and none at all."""
    for text, why in (
        ("[1, 2]", "is not a file of lastswitch"),
        ('{"format": "other/plan"}', "its format is 'other/plan'"),
        ("no JSON", "is not JSON"),
        ('{"format": "lastswitch/schedule"}', "is a saved schedule, which is written for other"),
    ):
        (tmp_path / "it.json").write_text(text)
        with pytest.raises(FileError, match=why):
            ls.load(tmp_path / "it.json")
    for missing in (tmp_path / "none.json", tmp_path):
        with pytest.raises(FileError):
            ls.load(missing)
    (tmp_path / "radio.toml").write_text("[[arms]]\nrest = [0.5]\nstreak = [0.1]\n")
    assert ls.load(tmp_path / "radio.toml") == ls.Bandit([([0.5], [0.1])])


def test_what_was_not_changed_loads(saved):
    """The attacks above mean something only if the untouched file, stamped anew, is taken."""
    _, load, data, file = saved
    file.write_bytes(data)
    assert not isinstance(outcome(load, file), FileError)


def test_changed_calendars_are_told(tmp_path):
    """The [calendar] of a bandit's file, one value changed."""
    import tomli_w

    whole = {
        "start": "2024-06-03",
        "every": "1d",
        "zone": "Europe/Rome",
        "skip": ["sun", "2024-12-25"],
    }
    rng, file, taken = random.Random("calendars"), tmp_path / "radio.toml", 0
    radio = to_toml(bandit_to_dict(bandit()))
    file.write_text(radio + "\n[calendar]\n" + tomli_w.dumps(whole))
    assert load_calendar(file).day(0) == date(2024, 6, 3)
    for _ in range(TRIES):
        junk = rng.choice([value for value in JUNK if value not in (None, [None], 10**400)])
        key = rng.choice([*whole, "evry"])
        file.write_text(radio + "\n[calendar]\n" + tomli_w.dumps({**whole, key: junk}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = load_calendar(file)
            except FileError:
                continue
        assert repr(found)
        taken += 1
    assert taken < TRIES


@pytest.mark.parametrize(
    "rule",
    [
        'rule = ["at_most"]',
        "rule = {}",
        'rule = "at_most"\nwho = {}',
        'rule = "apart"\nwho = "a"\nrounds = []',
    ],
)
def test_a_rule_of_the_wrong_type_is_told(tmp_path, rule):
    """A list where the rule's word should be, and its like."""
    file = tmp_path / "radio.toml"
    file.write_text(f'[[arms]]\nname = "a"\nrest = [0.5]\nstreak = [0.1]\n\n[[rules]]\n{rule}\n')
    with pytest.raises(FileError, match=r"radio\.toml: rules\[0\]"):
        ls.load_bandit(file)


def test_a_window_of_any_length_is_judged_in_a_cycle():
    """What repeats is counted by whole turns: no window is spelled out round by round."""
    far = r.at_most(0, 2**52, within=2**53)
    assert r.checking.violations(far, [(0,), (1,)], repeats=True) == []
    tight = r.at_most(0, 2**52 - 1, within=2**53)
    assert r.checking.violations(tight, [(0,), (1,)], repeats=True) == [(0, 1)]
