"""The package as a whole: its names, its weight, what it stands on."""

import inspect
import re
import subprocess
import sys
import tomllib
from difflib import unified_diff
from pathlib import Path

import pytest

import lastswitch as ls
import public_signatures
from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.drawing import save_figure
from lastswitch._utils.extras import load_extra
from lastswitch._utils.random import stream
from lastswitch.errors import FileError, LastSwitchError, MissingExtraError


def test_importing_is_light():
    """Nothing heavy comes along with `import lastswitch`."""
    code = "import sys, lastswitch; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    heavy = {
        "numpy",
        "matplotlib",
        "numba",
        "highspy",
        "typer",
        "scipy",
        "rich",
        "joblib",
        "ibis",
        "pandas",
    }
    assert not loaded & heavy


def test_public_names_resolve_and_are_documented():
    """Every promised name loads, and says what it is."""
    for name in ls.__all__:
        found = getattr(ls, name)
        assert found.__doc__, name
        assert inspect.ismodule(found) or "Examples\n" in found.__doc__, name
    assert set(ls.__all__) <= set(dir(ls))


def test_public_names_and_signatures_are_as_promised():
    """What is public is pinned: nothing is added, dropped or changed by accident."""
    promised = public_signatures.FILE.read_text(encoding="utf-8").splitlines()
    found = public_signatures.public_signatures().splitlines()
    changes = list(unified_diff(promised, found, "promised", "found", lineterm="", n=0))
    assert not changes, "\n".join(
        ["Public names changed. If that is meant: make signatures, and commit.", *changes]
    )


def test_modules_load_on_use():
    """What `import lastswitch` does not bring along is there when named."""
    assert ls.figures.draw_bandit(ls.instances.two_arms()).axes
    assert ls.testing.check_policy.__module__ == "lastswitch.testing"
    assert ls.environment.ENV_ID == "lastswitch/LSD-v0"
    assert {"figures", "testing"} <= set(dir(ls))


def test_unknown_names_are_attribute_errors():
    """A typo reads as one."""
    with pytest.raises(AttributeError, match="'lastswitch' has no attribute 'bandit_'"):
        _ = ls.bandit_


def test_every_error_is_ours_and_a_builtin_one():
    """Either base can be caught."""
    ours = [e for e in vars(ls.errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    for error in set(ours) - {LastSwitchError, ls.errors.LastSwitchWarning}:
        assert issubclass(error, LastSwitchError)
        assert issubclass(error, ValueError | TypeError | ImportError)


def test_streams_are_keyed_by_name():
    """The same labels give the same draws, other labels or seeds give others."""
    draws = {stream(seed, *labels).random() for seed in (0, 1) for labels in [("a",), ("a", 1)]}
    assert len(draws) == 4
    assert stream(0, "a", 1).random() == stream(0, "a", 1).random()


def test_a_missing_extra_says_what_to_install():
    """What the extra consists of: a line to paste that works in a checkout as well."""
    with pytest.raises(MissingExtraError) as caught:
        load_extra("no_such_module_anywhere", "spark")
    _, _, command = str(caught.value).partition("run: pip install ")
    assert "'pyspark>=" in command
    assert "'ibis-framework[duckdb]>=" in command  # the extra "spark" builds on "logs"
    assert "lastswitch[" not in command
    assert command.endswith("(the extra 'spark' of lastswitch)")


def test_an_extra_nobody_knows_names_the_module():
    """As in a checkout that is not installed: there is no list to read."""
    with pytest.raises(MissingExtraError, match=r"pip install no_such_module_anywhere \(the extra"):
        load_extra("no_such_module_anywhere", "no_such_extra")


def test_atomic_writes_leave_the_old_file_when_they_fail(tmp_path):
    """A write that cannot happen changes nothing and leaves nothing behind."""
    path = tmp_path / "kept.txt"
    write_atomic(path, "old")
    with pytest.raises(TypeError):
        write_atomic(path, 5)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    """Policies, bandits and figures all say which file, and why not."""
    nowhere = tmp_path / "missing" / "file.json"
    figure = ls.figures.draw_bandit(ls.instances.two_arms())
    for write in (
        lambda: write_atomic(nowhere, "text"),
        lambda: ls.FixedCycle([0, 1]).save(nowhere),
        lambda: save_figure(figure, nowhere.with_suffix(""), ["png"]),
    ):
        with pytest.raises(
            FileError, match=r"cannot write .*missing.file\..*: the folder .* does not exist"
        ):
            write()


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_a_name_no_file_can_have_is_refused(tmp_path, name):
    """The system's reasons are passed on, and nothing is left behind."""
    with pytest.raises(FileError, match="cannot write"):
        write_atomic(tmp_path / name, "text")
    assert not list(tmp_path.iterdir())


def test_the_lowest_versions_allowed_are_those_that_are_tested():
    """Every bound of what the tests install is the version `make test-lowest` installs."""
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["test"]]
    for extra in ("frames", "gym", "logs", "serve"):
        asked += extras[extra]
    bounds = {}
    for line in asked:
        if found := re.match(r"([\w-]+)(\[\w+\])?>=([\w.]+)", line):
            bounds[found[1]] = found[3]
    pinned = dict(
        line.split("==") for line in (root / "constraints-lowest.txt").read_text().splitlines()
    )
    assert bounds.keys() <= pinned.keys()
    for name, bound in bounds.items():
        assert re.fullmatch(rf"{re.escape(bound)}(\.0)*", pinned[name]), name
