"""What saving does to what is already there: modes, links, devices, other writers, killed ones."""

import errno
import fcntl
import io
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import lastswitch as ls
from lastswitch._utils.atomic import atomic_file, write_atomic
from lastswitch.errors import FileError

SAVE = (
    "import sys; from lastswitch._utils.atomic import write_atomic; "
    "write_atomic(sys.argv[1], 'rest')"
)


def mode(path):
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def names(folder):
    """Return what is in a folder, hidden files included."""
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o666, 0o755])
def test_an_existing_file_keeps_its_mode(tmp_path, kept):
    """And nobody else can read a secret while it is written."""
    path = tmp_path / "secret.json"
    path.write_text("old")
    path.chmod(kept)
    with atomic_file(path) as temporary:
        assert mode(temporary) == 0o600
        temporary.write_text("new")
    assert (path.read_text(), mode(path)) == ("new", kept)
    assert names(tmp_path) == ["secret.json"]


def test_a_new_file_is_as_readable_as_any_other(tmp_path):
    """It has the permissions the user's settings give to new files."""
    (tmp_path / "plain.txt").write_text("a")
    assert mode(write_atomic(tmp_path / "atomic.txt", "a")) == mode(tmp_path / "plain.txt")


def test_a_link_stays_a_link(tmp_path):
    """What it leads to is written, in its own folder; so is what a dangling one leads to."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "plan.json").write_text("old")
    for name in ("plan.json", "missing.json"):
        link = tmp_path / f"link-{name}"
        link.symlink_to(f"real/{name}")
        assert write_atomic(link, "new") == link
        assert link.is_symlink()
        assert (real / name).read_text() == "new"
    assert names(real) == ["missing.json", "plan.json"]
    assert names(tmp_path) == ["link-missing.json", "link-plan.json", "real"]
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(FileError, match="cannot write"):
        write_atomic(tmp_path / "round", "new")


def test_a_pipe_is_written_into(tmp_path):
    """Whoever reads it gets the text, and it is a pipe afterwards."""
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    write_atomic(pipe, "rest" * 30_000)
    reader.join(20)
    assert heard == ["rest" * 30_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_into():
    """A terminal, as /dev/null is one: it shows what was written."""
    master, slave = os.openpty()
    try:
        device = os.ttyname(slave)
        write_atomic(device, "rest")
        assert os.read(master, 100) == b"rest"
        assert stat.S_ISCHR(os.stat(device).st_mode)
    finally:
        os.close(master)
        os.close(slave)
    with pytest.raises(FileError, match=r"cannot write '/dev/full': No space left"):
        write_atomic("/dev/full", "rest")


def test_standard_output_is_written_into(tmp_path):
    """By a pipe or into a file, between what is printed before and after."""
    code = f"print('before'); {SAVE}; print('after')"
    command = [sys.executable, "-c", code, "/dev/stdout"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "before\nrestafter\n"
    with open(tmp_path / "out.txt", "w") as out:
        subprocess.run(command, stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text() == "before\nrestafter\n"
    assert names(tmp_path) == ["out.txt"]


def test_what_killed_writers_leave_is_thrown_away(tmp_path):
    """However many were killed, one file is left, until the next save of the same name."""
    path = tmp_path / "policy.json"
    code = (
        "import os, sys; from lastswitch._utils.atomic import atomic_file\n"
        "with atomic_file(sys.argv[1]) as file:\n"
        "    file.write_text('half')\n"
        "    os.kill(os.getpid(), 9)"
    )
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        assert run.returncode == -signal.SIGKILL
        assert len(names(tmp_path)) == 1
    write_atomic(path, "whole")
    assert names(tmp_path) == ["policy.json"]
    assert path.read_text() == "whole"


def test_what_others_are_writing_is_left_alone(tmp_path):
    """A save within a save, and many at once: the last one counts, and each is whole."""
    path = tmp_path / "policy.json"
    with atomic_file(path) as outer:
        outer.write_text("outer")
        write_atomic(path, "inner")
        assert path.read_text() == "inner"
    assert path.read_text() == "outer"

    def often(text):
        for _ in range(40):
            write_atomic(path, text * 1000)

    threads = [threading.Thread(target=often, args=(text,)) for text in "abcdef"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(set(path.read_text().removeprefix("outer"))) <= 1
    assert len(path.read_text()) == 1000
    assert names(tmp_path) == ["policy.json"]


def test_a_name_as_long_as_can_be_is_written(tmp_path):
    """The temporary file's own name does not ask for more."""
    path = tmp_path / ("é" * 125 + ".json")
    assert write_atomic(path, "rest").read_text() == "rest"
    assert names(tmp_path) == [path.name]


def nouns():
    """Return one thing of each kind that can be saved."""
    bandit = ls.instances.two_arms()
    cycles = {"a": lambda: ls.FixedCycle([0, 1], initial=-1)}
    return [
        (bandit, ".json"),
        (bandit, ".toml"),
        (ls.plan_block(bandit, 3), ""),
        (ls.FixedCycle([0, 1]), ""),
        (ls.compare(bandit, cycles, 10, 2, n_jobs=1, progress=None), ""),
        (ls.fit_curves(ls.logs.simulate(bandit, subjects=20, rounds=10, seed=0)), ""),
    ]


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "\ud800"])
def test_every_noun_refuses_names_no_file_can_have(tmp_path, name):
    """As a named error that says why, leaving nothing behind."""
    for noun, suffix in nouns():
        with pytest.raises(FileError, match="cannot write"):
            noun.save(tmp_path / f"{name}{suffix}")
    assert names(tmp_path) == []


def test_a_policy_where_files_cannot_be_locked_says_so(tmp_path, monkeypatch):
    """Saving over one would be a guess, so it is refused; a first save needs no lock."""

    def none_here(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none_here)
    policy = ls.FixedCycle([0, 1])
    path = policy.save(tmp_path / "policy.json")
    with pytest.raises(FileError, match=r"cannot write .*policy\.json'?: No locks available"):
        policy.save(path)
    assert names(tmp_path) == ["policy.json"]


def test_the_command_line_writes_into_standard_output():
    """``--out /dev/stdout`` is a table for the next program of a pipe."""
    command = [sys.executable, "-m", "lastswitch", "plan", "two-arms", "--length", "3"]
    command += ["--from", "2024-06-03", "--format", "csv", "--out", "/dev/stdout"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("round,date,weekday,begin,end,arm\n0,2024-06-03,Mon")
    assert io.StringIO(run.stdout).readlines()[3].startswith("2,2024-06-05")
