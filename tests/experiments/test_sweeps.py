"""Sweeps as files: crossing, and errors that name what is wrong and where."""

import re

import pytest

import lastswitch as ls
from lastswitch.errors import ExperimentError
from lastswitch.experiments.sweeps import read_sweep, run_sweep, slug

GOOD = """
horizon = 60
runs = 2

[instances]
paper = "two-arms"
mine = "mine.toml"

[policies.greedy]
type = "OracleGreedy"

[policies.cycle]
type = "FixedCycle"

[policies.cycle.each]
block = [[0, 1], [0, 1, 1]]
"""


@pytest.fixture
def folder(tmp_path):
    """Hold a sweep and a bandit beside it."""
    ls.instances.stationary([0.2, 0.7]).save(tmp_path / "mine.toml")
    (tmp_path / "sweep.toml").write_text(GOOD)
    return tmp_path


def test_a_sweep_crosses_instances_policies_and_parameters(folder):
    """Two instances times three policies, each built with its own parameters."""
    found = run_sweep(folder / "sweep.toml", folder / "out", n_jobs=1, progress=False)
    assert list(found) == ["paper", "mine"]
    names = ["greedy", "cycle block=[0, 1]", "cycle block=[0, 1, 1]"]
    assert all(list(comparison.policies) == names for comparison in found.values())
    assert found["mine"].arm_plays("cycle block=[0, 1, 1]").mean.tolist() == [20, 40]
    again = ls.load_comparison(folder / "out" / "mine.npz")
    assert again.arm_plays("greedy").mean.tolist() == [0, 60]


def test_a_sweep_says_what_the_call_says(folder):
    """A policy in a file gives the numbers of the same policy in Python."""
    from functools import partial

    found = run_sweep(folder / "sweep.toml", folder / "out", n_jobs=1, progress=False)["paper"]
    called = ls.compare(
        ls.instances.two_arms(),
        {"cycle block=[0, 1]": partial(ls.FixedCycle, [0, 1])},
        60,
        2,
        n_jobs=1,
        progress=False,
    )
    there = found.policies["cycle block=[0, 1]"].collected
    assert there.tolist() == called.policies["cycle block=[0, 1]"].collected.tolist()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon", "horizn", r"unknown name 'horizn' \(did you mean 'horizon'\?\)"),
        ("horizon = 60", "", "'horizon' is missing"),
        ("horizon = 60", "horizon = 0", "horizon must be a whole number"),
        ('"two-arms"', '"two-armz"', r"instance 'paper'.*did you mean 'two-arms'"),
        ('"mine.toml"', '"gone.toml"', r"instance 'mine'.*gone\.toml"),
        ('"OracleGreedy"', '"OracelGreedy"', r"policy 'greedy'.*did you mean 'OracleGreedy'"),
        ("block = [[0, 1], [0, 1, 1]]", "blok = [1]", r"policy 'cycle': unknown name 'blok'"),
        ("block = [[0, 1], [0, 1, 1]]", "block = 3", r"policy 'cycle': each must hold lists"),
        ('type = "OracleGreedy"', "", "policy 'greedy' needs a type"),
        ('paper = "two-arms"', "paper = 2", "instance 'paper' must be a text"),
        ("mine =", '"paper " =', "would be saved to one file"),
        ("[instances]", "[instances", "not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_sweep_is_named(folder, old, new, message):
    """The file, the entry and the slip, before anything runs."""
    (folder / "sweep.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ls.LastSwitchError, match=re.escape("sweep.toml")) as caught:
        read_sweep(folder / "sweep.toml")
    assert re.search(message, str(caught.value))


def test_a_policy_that_does_not_fit_an_instance_is_told_before_anything_runs(folder):
    """A cycle over more arms than there are cannot be built."""
    (folder / "sweep.toml").write_text(GOOD.replace("[0, 1, 1]", "[0, 1, 2]"))
    with pytest.raises(ExperimentError, match=r"policy 'cycle block=\[0, 1, 2\]' cannot be built"):
        run_sweep(folder / "sweep.toml", folder / "out", n_jobs=1, progress=False)


def test_a_missing_sweep_is_told():
    """No traceback for a wrong path."""
    with pytest.raises(ls.errors.FileError, match="does not exist"):
        read_sweep("nowhere.toml")


def test_a_sweep_nested_too_deep_is_told(tmp_path):
    """In words, however deep the parser can go."""
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(ls.errors.FileError, match="nested too deep"):
        read_sweep(tmp_path / "deep.toml")


@pytest.mark.parametrize(("name", "file"), [("a b", "a-b"), ("../x", "..-x"), (":", "unnamed")])
def test_names_become_safe_file_names(name, file):
    """An instance's name never leaves the folder."""
    assert slug(name) == file
