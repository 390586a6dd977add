"""Where compiled kernels lie: never stale, and never in the way."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lastswitch
from lastswitch._utils import kernel_cache as _kernel_cache
from lastswitch._utils.kernel_cache import Locator, cache_folder, kept, sources

PACKAGE = Path(lastswitch.__file__).parent
#: Two arms' pay for three plays, and how many kernels were found compiled.
PAYS = """
import lastswitch as ls
from lastswitch.model.block_kernel import pays_of_block
pays = ls.blocks.block_pays(ls.instances.two_arms(), [0, 1, 0])
print(sum(pays), sum(pays_of_block.stats.cache_hits.values()))
"""


def start(code: str, cache: Path, source: Path = PACKAGE.parent, **options: Any) -> Any:
    """Start a process with a cache of its own."""
    changed = {"PYTHONPATH": str(source), "LASTSWITCH_CACHE_DIR": str(cache)}
    env = os.environ | changed | options.pop("env", {})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], env=env, cwd="/", **pipes, **options)


def run(code: str, cache: Path, *args: Any, **options: Any) -> tuple[str, list[str]]:
    """Run code in a process of its own; return what it printed, and the lines it logged."""
    process = start(code, cache, *args, **options)
    printed, logged = process.communicate(timeout=300)
    assert process.returncode == 0, logged
    notices = "compiling the", "once"
    lines = [line for line in logged.splitlines() if not all(word in line for word in notices)]
    return printed.strip(), lines


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache in which what :data:`PAYS` needs is compiled."""
    cache = tmp_path_factory.mktemp("filled")
    printed, lines = run(PAYS, cache)
    assert printed.endswith(" 0")
    assert not lines
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """Return a copy of a filled cache."""
    return shutil.copytree(filled, tmp_path / "cache")


@pytest.fixture(scope="module")
def pays(filled: Path) -> str:
    """Return what :data:`PAYS` prints in front of the number of kernels found."""
    printed, lines = run(PAYS, filled)
    assert not lines
    value, hits = printed.split()
    assert hits == "1"  # the control of all that follows: a cache that is whole is used
    return value


# Never stale


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return the folder of a copy of the package, with kernels in files that use each other."""
    package = tmp_path / "source" / "lastswitch"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    jit = "from lastswitch._utils.jit import jit\n"
    (package / "_scale.py").write_text("SCALE = 2.0\n")
    (package / "_aside.py").write_text("ASIDE = 2.0\n")
    (package / "_low.py").write_text(
        f"{jit}from lastswitch._scale import SCALE\n"
        "@jit(inline=True)\ndef copied(x):\n    return x * SCALE\n"
        "@jit(inner=True)\ndef called(x):\n    return x + 1.0\n"
    )
    (package / "_high.py").write_text(
        f"{jit}from lastswitch import _low\nfrom lastswitch._low import called\n"
        "copied = _low.copied\n"
        "@jit\ndef high(x):\n    return called(copied(x))\n"
    )
    return package


HIGH = """
from lastswitch._high import high
print(high(3.0), sum(high.stats.cache_hits.values()))
"""


#: File, what is there, what is put there, and what :data:`HIGH` prints from then on.
EDITS = [
    ("_aside.py", "2.0", "10.0", "7.0 1"),  # the control: of no concern to the kernel
    ("_low.py", "x + 1.0", "x + 5.0", "11.0 0"),
    ("_scale.py", "2.0", "10.0", "35.0 0"),
    ("_low.py", "x * SCALE", "x - SCALE", "-2.0 0"),
    ("_high.py", "called(copied(x))", "-called(copied(x))", "2.0 0"),
]


def test_an_edited_kernel_is_compiled_anew_whatever_file_it_is_in(
    copied: Path, tmp_path: Path
) -> None:
    """Of what was compiled into a kernel, nothing outlives its source."""
    cache, source = tmp_path / "cache", copied.parent
    assert run(HIGH, cache, source) == ("7.0 0", [])
    for file, old, new, expected in EDITS:
        edited = copied / file
        edited.write_text(edited.read_text().replace(old, new))
        assert run(HIGH, cache, source) == (expected, [])


def test_numba_alone_would_run_stale_code(copied: Path, tmp_path: Path) -> None:
    """The control of the test before: it could fail."""
    kernels = copied / "_utils" / "jit.py"
    code = kernels.read_text()
    assert "kept(function, **options)" in code
    kernels.write_text(
        code.replace("kept(function, **options)", "numba.njit(cache=True)(function)")
    )
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(HIGH, tmp_path, copied.parent, env=env)[0] == "7.0 0"
    edited = copied / "_low.py"
    edited.write_text(edited.read_text().replace("x + 1.0", "x + 5.0"))
    assert run(HIGH, tmp_path, copied.parent, env=env)[0] == "7.0 1"


def test_sources_are_those_imported_however_it_is_written(tmp_path: Path) -> None:
    """By all forms of the statement; but not inside functions, nor for types alone."""
    file = tmp_path / "kernels.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "import numpy, lastswitch.calendars.days\n"
        "from lastswitch._utils import arrays as plain\n"
        "from lastswitch import Bandit\n"
        "try:\n    from lastswitch.errors import (\n        FileError,\n    )\nfinally:\n    pass\n"
        "if TYPE_CHECKING:\n    from lastswitch._utils import csv\n"
        "def late():\n    import lastswitch.model.bandit\n"
    )
    names = {path.name for path in sources(file)}
    assert {"kernels.py", "days.py", "arrays.py", "errors.py", "__init__.py"} <= names
    assert not {"csv.py", "bandit.py"} & names


def test_versions_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version makes room for itself among its own module's only."""

    def function() -> None:
        pass

    for number in range(20):
        for module in ("planning.prices", "planning.prices_of"):
            folder = tmp_path / f"{module}-{number:016x}"
            folder.mkdir()
            os.utime(folder, (number, number))
    monkeypatch.setattr(_kernel_cache._CONFIG, "CACHE_DIR", str(tmp_path / "planning.prices-0"))
    Locator.from_function(function, __file__).ensure_cache_path()
    left = {path.name for path in tmp_path.glob("planning.prices-*")}
    assert left == {"planning.prices-0", *(f"planning.prices-{n:016x}" for n in range(13, 20))}
    assert len(list(tmp_path.glob("planning.prices_of-*"))) == 20


# Never in the way


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own variable first, then Numba's, then what the system has for such files."""
    for variable in ("LASTSWITCH_CACHE_DIR", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "lastswitch"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "lastswitch"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache_folder() == tmp_path / "numba"
    monkeypatch.setenv("LASTSWITCH_CACHE_DIR", "~/ours")
    assert cache_folder() == tmp_path / "ours"


def test_without_a_folder_kernels_are_compiled_in_memory(tmp_path: Path, pays: str) -> None:
    """A file stands in its place, or the system allows none: one line that says what to set."""
    taken = tmp_path / "taken"
    taken.write_text("")
    for folder in (taken, taken / "below", Path("/proc/none")):
        printed, (line,) = run(PAYS, folder)
        assert printed == f"{pays} 0"
        assert str(folder) in line
        assert "LASTSWITCH_CACHE_DIR" in line


def bound_by_modes() -> None:
    """Let the modes of files hold even if we are root: give up what sets root above them."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def test_a_user_with_a_home_that_is_read_only(tmp_path: Path, pays: str) -> None:
    """As in a hardened container."""
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    variables = ("LASTSWITCH_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    env = {"HOME": str(home), **dict.fromkeys(variables, "")}
    printed, (line,) = run(PAYS, tmp_path, env=env, preexec_fn=bound_by_modes)
    assert printed == f"{pays} 0"
    assert f"{home}/.cache/lastswitch" in line
    assert not list(home.iterdir())


def test_a_filled_folder_that_is_read_only_serves(cache: Path, copied: Path, pays: str) -> None:
    """As in an image that was warmed up; what is not in it is compiled, and a line says so."""
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert run(PAYS, cache, preexec_fn=bound_by_modes) == (f"{pays} 1", [])
    printed, (line,) = run(HIGH, cache, copied.parent, preexec_fn=bound_by_modes)
    assert printed == "7.0 0"
    assert "Permission denied" in line
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o755)


def on_a_full_disk() -> None:
    """Refuse files of more than a hundred bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_a_full_disk(tmp_path: Path, pays: str) -> None:
    """The kernel works, one line says that it cannot be kept, and nothing half is left."""
    printed, (line,) = run(PAYS, tmp_path, preexec_fn=on_a_full_disk)
    assert printed == f"{pays} 0"
    assert str(tmp_path) in line
    assert "LASTSWITCH_CACHE_DIR" in line
    assert not list(tmp_path.rglob("*.nb*"))
    assert run(PAYS, tmp_path) == (f"{pays} 0", [])
    assert run(PAYS, tmp_path) == (f"{pays} 1", [])


DAMAGES = {
    "empty": lambda data: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "garbage": lambda data: b"\x80\x04garbage" * 99,
    "text": lambda data: b"<html>no such page</html>",
}


@pytest.mark.parametrize(
    ("damage", "suffix"),
    [("empty", "nbi"), ("empty", "nbc"), ("cut short", "nbc"), ("garbage", "nbi"), ("text", "nbc")],
)
def test_damaged_files_are_thrown_away(cache: Path, pays: str, suffix: str, damage: str) -> None:
    """One line, and the next process finds what this one compiled."""
    for path in cache.rglob(f"*.{suffix}"):
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    printed, (line,) = run(PAYS, cache)
    assert printed == f"{pays} 0"
    assert str(cache) in line
    assert "damaged" in line
    assert run(PAYS, cache) == (f"{pays} 1", [])


def test_code_of_another_kind_of_argument_is_not_run(copied: Path, tmp_path: Path) -> None:
    """As is left if two processes write the same index at once."""
    code = """
from lastswitch._high import high
print(high(3.0), high(3), sum(high.stats.cache_hits.values()))
"""
    cache = tmp_path / "cache"
    assert run(code, cache, copied.parent) == ("7.0 7.0 0", [])
    one, other = sorted(cache.rglob("*.nbc"))
    bytes_of_one = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(bytes_of_one)
    printed, (line,) = run(code, cache, copied.parent)
    assert printed == "7.0 7.0 0"
    assert "damaged" in line


@pytest.mark.parametrize("damage", [None, "cut short"])
def test_several_processes_at_once(
    cache: Path, tmp_path: Path, pays: str, damage: str | None
) -> None:
    """On an empty cache, and on a damaged one."""
    if damage is None:
        shutil.rmtree(cache)
    else:
        for path in cache.rglob("*.nb?"):
            path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with ThreadPoolExecutor(4) as threads:
        for printed, _ in threads.map(lambda _: run(PAYS, cache), range(4)):
            assert printed.split()[0] == pays
    assert run(PAYS, cache) == (f"{pays} 1", [])


# What is leaned on


def test_a_numba_that_finds_no_folder(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The fallback of versions that know no list of locators: memory, with the same line."""

    def doubled(x: float) -> float:
        return 2.0 * x

    monkeypatch.setattr(_kernel_cache, "_warned", set())
    monkeypatch.setattr(Locator, "from_function", lambda *_: None)
    assert kept(doubled, nogil=True)(2.0) == 4.0
    assert "LASTSWITCH_CACHE_DIR" in caplog.text


def test_a_numba_whose_kernels_have_no_cache(tmp_path: Path, pays: str) -> None:
    """The fallback if its cache has moved: as with compiling switched off."""
    code = PAYS.rsplit("print", 1)[0] + "print(sum(pays))"
    assert run(code, tmp_path, env={"NUMBA_DISABLE_JIT": "1"}) == (pays, [])
