"""The store: what is finished stays finished, whatever happens to the process or the disk."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

import lastswitch as ls
from lastswitch.errors import ExperimentError
from lastswitch.experiments.store import TaskStore

TWO = ls.instances.two_arms()
CYCLES = {"alternate": partial(ls.FixedCycle, [0, 1]), "first": partial(ls.FixedCycle, [0])}

#: A sweep that writes down which task each policy is built for, and that starts no more tasks
#: than the number in a file of its own allows.
SWEEP = """
import sys, time
from pathlib import Path
import lastswitch as ls

log, gate, store, out = sys.argv[1:]

def slow(seed, initial):
    if seed:  # seed 0 only asks what would be built
        with open(log, "a") as file:
            file.write(f"{seed}\\n")
        while len(Path(log).read_text().split()) > int(Path(gate).read_text()):
            time.sleep(0.01)
    return ls.FixedCycle([0, 1], initial=initial)

if __name__ == "__main__":
    bandit = ls.instances.two_arms()
    found = ls.compare(bandit, {"slow": slow}, 200, 120, n_jobs=2, store=store, progress=False)
    found.save(out)
"""


def task_files(store):
    """Return the files of finished tasks."""
    return sorted(store.glob("tasks/*/*.json"))


def runs_stored(store):
    """Return the seeds of the runs a store holds."""
    from lastswitch.experiments.tasks import task_seeds

    numbers = [re.search(r'"run": (\d+)', path.read_text()) for path in task_files(store)]
    return {task_seeds(0, "slow", int(found[1]))[1] for found in numbers if found}


def test_a_sweep_killed_twice_ends_in_the_same_bytes(tmp_path):
    """Kill -9 twice in the midst of it: nothing stored is computed again, the end is the same."""
    script, store, log = tmp_path / "sweep.py", tmp_path / "store", tmp_path / "log"
    script.write_text(SWEEP)
    log.touch()
    gate = tmp_path / "gate"
    command = [sys.executable, script, log, gate, store, tmp_path / "killed.npz"]
    for _ in range(2):
        before = len(log.read_text().split())
        done = runs_stored(store)
        gate.write_text(f"{before + 50}")  # so that some of the 120 are left whenever it is killed
        process = subprocess.Popen(command, start_new_session=True)
        while len(runs_stored(store)) < len(done) + 5:  # runs alone: the optimum is stored too
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        os.killpg(process.pid, signal.SIGKILL)  # its workers, which would end by themselves
        built = {int(seed) for seed in log.read_text().split()[before:]}
        assert not built & done
    before, done = len(log.read_text().split()), runs_stored(store)
    assert 10 <= len(done) < 120
    gate.write_text("1000")
    assert subprocess.run(command, check=False, timeout=60).returncode == 0
    built = [int(seed) for seed in log.read_text().split()[before:]]
    assert len(built) == len(set(built)) == 120 - len(done)
    assert not set(built) & done

    whole = ls.compare(
        TWO,
        {"slow": lambda seed, initial: ls.FixedCycle([0, 1], initial=initial)},
        200,
        120,
        n_jobs=1,
        progress=False,
    )
    assert whole.save(tmp_path / "whole.npz").read_bytes() == (tmp_path / "killed.npz").read_bytes()
    assert not list(store.glob("incoming/*"))


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "binary"])
def test_a_damaged_file_is_computed_again(damage, tmp_path):
    """A file that is not what was written reads as absent, never as a result."""
    first = ls.compare(TWO, CYCLES, 50, 2, n_jobs=1, store=tmp_path, progress=False)
    for path in task_files(tmp_path):
        content = path.read_bytes()
        path.write_bytes(
            {
                "cut": content[: len(content) // 2],
                "changed": content.replace(b'"switches": ', b'"switches": 7'),
                "empty": b"",
                "binary": bytes(range(256)),
            }[damage]
        )
    again = ls.compare(TWO, CYCLES, 50, 2, n_jobs=1, store=tmp_path, progress=False)
    assert (
        again.save(tmp_path / "a.npz").read_bytes() == first.save(tmp_path / "b.npz").read_bytes()
    )


def test_more_runs_and_policies_reuse_what_is_there(tmp_path):
    """A larger sweep computes only what is new."""
    heard = []
    ls.compare(TWO, CYCLES, 50, 3, n_jobs=1, store=tmp_path, progress=False)
    wider = CYCLES | {"greedy": ls.learning.OracleGreedy}
    ls.compare(TWO, wider, 50, 4, n_jobs=1, store=tmp_path, progress=heard.append)
    assert (heard[0].done, heard[0].total) == (3 + 3 + 1, 4 * 3 + 1)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"horizon": 51}, {"bandit": ls.Bandit(TWO.curves, "none", initial=-1)}],
    ids=["seed", "horizon", "bandit"],
)
def test_what_changes_the_result_changes_the_key(change, tmp_path):
    """Nothing is taken from the store that another sweep would have computed otherwise."""
    given = {"bandit": TWO, "policies": CYCLES, "horizon": 50, "runs": 1, "n_jobs": 1}
    ls.compare(**given, store=tmp_path, progress=False)
    before = len(task_files(tmp_path))
    heard = []
    ls.compare(**(given | change), store=tmp_path, progress=heard.append)
    assert len(task_files(tmp_path)) >= before + 2


def test_a_parameter_of_the_policy_changes_the_key(tmp_path):
    """Two policies of one name but other parameters are not mistaken for one another."""
    for block in ([0, 1], [0, 1, 1]):
        made = {"cycle": partial(ls.FixedCycle, block)}
        found = ls.compare(TWO, made, 60, 1, n_jobs=1, store=tmp_path, progress=False)
        assert found.arm_plays("cycle").mean[1] == 60 * sum(block) / len(block)


def test_every_stored_result_says_where_it_comes_from(tmp_path):
    """Each file holds the versions, the seed, the instance and the policy."""
    ls.compare(TWO, CYCLES, 50, 1, n_jobs=1, store=tmp_path, progress=False)
    for path in task_files(tmp_path):
        for part in ("versions", "instance", "horizon", "numpy"):
            assert f'"{part}"' in path.read_text()


def test_a_folder_that_cannot_be_is_refused_before_anything_runs(tmp_path):
    """A file where the folder should be: one sentence, at once."""
    (tmp_path / "taken").write_text("here already")
    with pytest.raises(ExperimentError, match=r"cannot keep results in .*taken"):
        ls.compare(TWO, CYCLES, 50, 1, n_jobs=1, store=tmp_path / "taken" / "in", progress=False)


def test_a_disk_that_fills_up_names_the_task_and_keeps_the_rest(tmp_path):
    """The kernel refuses to write more; what was stored before is there for the next try."""
    store = TaskStore(tmp_path).open()
    store.put("aa", {"n": 1}, {}, "the first task")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, usual[1]))
        with pytest.raises(ExperimentError, match="cannot store the result of the second task"):
            store.put("bb", {"n": "x" * 4096}, {}, "the second task")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, handler)
    assert (store.get("aa"), store.get("bb")) == ({"n": 1}, None)
    assert not list((tmp_path / "incoming").iterdir())


def test_what_a_dead_process_left_half_written_is_cleared(tmp_path):
    """Opening the store removes it, but not what a living process is writing."""
    TaskStore(tmp_path).open()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    import socket

    dead = tmp_path / "incoming" / f"{socket.gethostname()}-{gone.pid}.abc"
    alive = tmp_path / "incoming" / f"{socket.gethostname()}-{os.getppid()}.abc"
    dead.touch()
    alive.touch()
    TaskStore(tmp_path).open()
    assert (dead.exists(), alive.exists()) == (False, True)
