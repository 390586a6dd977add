"""Whatever a file holds, it is a bandit or an error that names the file."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch import Bandit
from lastswitch.errors import FileError
from lastswitch.model.files import bandit_from_dict, bandit_to_dict, load_bandit
from lastswitch.model.instances import five_arms

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["step", "periodic", "hold", "repeat", "bernoulli"]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
SETTINGS = ["noise", "sigma", "initial", "groups", "plays", "silence", "rules"]
KEYS = ["name", "rest", "streak", "delays", "shape", "tail", "monotone", "at", "high", "values"]
arm_tables = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), junk, max_size=5)
documents = st.dictionaries(st.sampled_from(["version", *SETTINGS]), junk) | (
    st.builds(
        lambda top, arms: {**top, "arms": arms},
        st.dictionaries(st.sampled_from(SETTINGS), junk, max_size=2),
        st.lists(arm_tables | junk, max_size=3) | junk,
    )
)


def outcome(read):
    """Return the bandit that ``read`` gives, or the file error it raises."""
    try:
        return read()
    except FileError as error:
        return error


@settings(max_examples=400)
@given(data=documents | junk)
def test_whatever_a_file_holds_it_is_a_bandit_or_a_file_error(data):
    """Nothing else comes out, and what is read can be saved and read again."""
    read = outcome(lambda: bandit_from_dict(data, "it.json"))
    if isinstance(read, FileError):
        assert "it.json" in str(read)
        assert len(str(read)) < 1000
    else:
        assert bandit_from_dict(bandit_to_dict(read)) == read


@cache
def saved(suffix):
    """Return the bytes of a saved bandit."""
    with tempfile.TemporaryDirectory() as folder:
        return five_arms().save(Path(folder) / f"five{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_file_gives_a_bandit_or_a_file_error(suffix, data):
    """Any bytes cut out or put in."""
    whole = saved(suffix)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"five{suffix}"
        at, size = data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, 20))
        file.write_bytes(whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + size :])
        read = outcome(lambda: load_bandit(file))
    assert isinstance(read, Bandit) or file.name in str(read)
