"""Saved files: what is written comes back, and nothing else does."""

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch._utils.codec import (
    array_digest,
    digest,
    load_json,
    pack_array,
    save_json,
    stamp,
    unpack_array,
    unstamp,
)
from lastswitch.errors import FileError

CONTENT = {"block": [0, 1, 1], "value": 2.5, "names": ["jazz", "talk"], "bound": math.inf}

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**130), 2**130)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
keys = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda k: not k.startswith("$"))
contents = st.dictionaries(
    keys.filter(lambda key: key not in ("format", "version", "digest")),
    st.recursive(scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(keys, v, max_size=4)),
    max_size=5,
)


@pytest.fixture
def saved(tmp_path):
    """Save a plan, and return its file."""
    return save_json(tmp_path / "plan.json", "plan", 2, CONTENT)


@given(contents)
def test_what_is_stamped_comes_back(content):
    """Through text and back, infinities included."""
    text = json.dumps(stamp("plan", 2, content))
    assert unstamp(json.loads(text), "plan", 2, "here") == content


def test_what_is_saved_comes_back(saved):
    """The file names its kind and version, and is JSON that any program reads."""
    assert load_json(saved, "plan", 2) == CONTENT
    on_disk = json.loads(saved.read_text(), parse_constant=pytest.fail)
    assert (on_disk["format"], on_disk["version"]) == ("lastswitch/plan", 2)
    assert on_disk["bound"] == {"$float": "inf"}


def test_numpy_and_tuples_are_written_as_json_has_them():
    """Their values come back in plain lists."""
    content = {"a": np.array([1, 2]), "b": np.float64(0.5), "c": (1, (2,)), "d": np.bool_(True)}
    read = unstamp(stamp("fit", 1, content), "fit", 1, "here")
    assert read == {"a": [1, 2], "b": 0.5, "c": [1, [2]], "d": True}


def test_the_digest_is_of_values_not_of_layout(saved):
    """Order, indents, a byte-order mark and 2 for 2.0 change nothing."""
    data = json.loads(saved.read_text())
    shuffled = {key: data[key] for key in sorted(data, reverse=True)}
    saved.write_text(json.dumps(shuffled, indent=4), encoding="utf-8-sig")
    assert load_json(saved, "plan", 2) == CONTENT
    assert digest({"a": 2.0}) == digest({"a": 2})
    assert digest({"a": 2.0}) != digest({"a": 2.1})


def test_the_digest_is_the_same_on_every_platform():
    """Pinned: it may change only together with every version."""
    content = {"é": 0.1, "a": [1e300, -0.0, 1e-7, 2**70, None, True], "z": {"k": "名"}}
    assert digest(content) == "733699ad979ae8c0c3366f8ad9c3c93e02a0f0a889876531fdd9ba93706567fe"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace("2.5", "2.6"), "damaged or was edited by hand"),
        (lambda text: text.replace('"digest"', '"digits"'), "damaged or was edited by hand"),
        (lambda text: text.replace("inf", "ink"), "damaged or was edited by hand"),
        (lambda text: text[: len(text) // 2], "is not JSON: .*was it cut short"),
        (lambda text: text.replace("2.5", "NaN"), "bare word NaN"),
        (lambda text: text.replace("2.5", "-Infinity"), "bare word -Infinity"),
        (lambda text: text.replace("2.5", "9" * 5000), "is not JSON"),
        (lambda text: text.replace("2.5", "[" * 100_000), "nested too deep"),
        (lambda text: text.replace("2.5", "[" * 500 + "]" * 500), "damaged or .*|nested too deep"),
        (lambda text: text.replace("jazz", "\\ud800"), "is damaged: it holds half a character"),
        (lambda text: "[1, 2]", r"must hold one object, got \[1, 2\]"),
        (lambda text: "", "is not JSON"),
        (lambda text: "{}", "its format must be 'lastswitch/plan', got None"),
        (lambda text: text.replace("lastswitch/plan", "lastswitch/policy"), "load_policy"),
        (lambda text: text.replace("lastswitch/plan", "lastswitch/task"), "is a saved task, not"),
        (lambda text: text.replace("lastswitch/plan", "lastswitch-plan-1"), "by lastswitch 0.1"),
        (lambda text: text.replace("lastswitch/plan", "lastswitch-policy"), "by lastswitch 0.1"),
        (lambda text: text.replace("lastswitch/plan", "other/plan"), "got 'other/plan'"),
        (lambda text: text.replace('"version": 2', '"version": 3'), "upgrade lastswitch"),
        (lambda text: text.replace('"version": 2', '"version": 1'), "make the plan again"),
        (lambda text: text.replace('"version": 2', '"version": 2.0'), "version is 2.0, not a num"),
        (lambda text: text.replace('"version": 2', '"version": true'), "version is True, not a"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(saved, damage, message):
    """Each damage has its own words, and the file's name."""
    changed = damage(saved.read_text())
    assert changed != saved.read_text()
    saved.write_text(changed)
    with pytest.raises(FileError, match=message) as caught:
        load_json(saved, "plan", 2)
    assert str(saved) in str(caught.value)


@settings(max_examples=300)
@given(st.data())
def test_every_changed_byte_is_noticed(data):
    """A file with any byte changed is refused, or holds what it held."""
    original = json.dumps(stamp("plan", 2, CONTENT)).encode()
    at = data.draw(st.integers(0, len(original) - 1))
    changed = bytearray(original)
    changed[at] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        file.write_bytes(changed)
        try:
            read = load_json(file, "plan", 2)
        except FileError:
            return
    assert read == CONTENT


def test_files_that_cannot_be_read_say_so(tmp_path):
    """Missing, a folder, another encoding, an impossible name."""
    with pytest.raises(FileError, match="does not exist"):
        load_json(tmp_path / "none.json", "plan", 2)
    with pytest.raises(FileError, match="is a folder"):
        load_json(tmp_path, "plan", 2)
    (tmp_path / "latin.json").write_bytes('{"name": "café"}'.encode("latin-1"))
    with pytest.raises(FileError, match=r"not text in UTF-8 \(byte 13"):
        load_json(tmp_path / "latin.json", "plan", 2)
    with pytest.raises(FileError, match="null"):
        load_json("a\0b", "plan", 2)


def nested(levels):
    """Return lists in lists."""
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": {1, 2}}, r"\{1, 2\} is not a number"),
        ({"a": {3: 1}}, "the key 3 is not a string"),
        ({"a": "\ud800"}, "half a character"),
        ({"format": "mine"}, "called 'format'"),
        ({"a": nested(100_000)}, "nested too deep"),
        ({"a": 10**5000}, "cannot be saved"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_a_file_is_made(tmp_path, content, message):
    """The old file stays as it was."""
    kept = save_json(tmp_path / "plan.json", "plan", 2, CONTENT)
    with pytest.raises(FileError, match=message):
        save_json(kept, "plan", 2, content)
    assert load_json(kept, "plan", 2) == CONTENT


@pytest.mark.parametrize("dtype", ["?", "i1", "<i8", ">i8", "<f8", "f4"])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), ()])
def test_arrays_come_back(dtype, shape):
    """Shape, numbers and kind."""
    array = np.arange(math.prod(shape), dtype=float).reshape(shape).astype(dtype)
    read = unpack_array(json.loads(json.dumps(pack_array(array))), "here")
    assert read.shape == array.shape
    assert read.dtype == array.dtype.newbyteorder("=")
    assert (read == array).all()
    assert read.flags.writeable


PACKED = pack_array(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [10**6, 10**6]},
        {"shape": [2, 4]},
        {"shape": [-2, -3]},
        {"shape": [10**400]},
        {"shape": [2.0, 3]},
        {"shape": 6},
        {"dtype": "O"},
        {"dtype": "<U4"},
        {"dtype": "f3"},
        {"dtype": 8},
        {"$array": "!!!!"},
        {"$array": PACKED["$array"][:8]},
        {"$array": None},
        {"$array": "AAAA"},
    ],
)
def test_a_damaged_array_is_refused(change):
    """Nothing is made larger than what the file can hold."""
    with pytest.raises(FileError, match="here is damaged"):
        unpack_array(PACKED | change, "here")
    for key in change:
        with pytest.raises(FileError, match="here is damaged"):
            unpack_array({k: v for k, v in PACKED.items() if k != key}, "here")


def test_objects_are_no_arrays_to_save():
    """Only numbers are."""
    with pytest.raises(FileError, match="array of object cannot be saved"):
        pack_array(np.array([{}]))


def test_the_digest_of_arrays_sees_names_types_and_values():
    """And not the order of names, nor the order of bytes."""
    first = {"a": np.arange(3), "b": np.ones(2)}
    assert array_digest(first) == array_digest({"b": np.ones(2), "a": np.arange(3).astype(">i8")})
    others = [
        {"a": np.arange(3), "c": np.ones(2)},
        {"a": np.arange(3, dtype="i4"), "b": np.ones(2)},
        {"a": np.arange(3), "b": np.zeros(2)},
        {"a": np.arange(3).reshape(3, 1), "b": np.ones(2)},
    ]
    assert array_digest(first) not in {array_digest(other) for other in others}
