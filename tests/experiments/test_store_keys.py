"""A store never serves another experiment's results: whatever can change a run is in its key."""

import os
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import ExperimentError, LastSwitchWarning
from lastswitch.learning.rotation.prior import Prior

TWO = ls.instances.two_arms()
quiet = partial(ls.compare, horizon=60, runs=2, n_jobs=1, progress=False)


def both(first, second, store, bandit=TWO):
    """Run two factories under one name on one store; return each one's rewards."""
    found = [quiet(bandit, {"it": factory}, store=store) for factory in (first, second)]
    return [comparison.policies["it"].collected.tolist() for comparison in found]


def alone(factory, bandit=TWO):
    """Return the rewards of a factory without a store."""
    return quiet(bandit, {"it": factory}).policies["it"].collected.tolist()


class Turns:
    """Ask and tell, and no `Policy`: plays its arms in turn."""

    def __init__(self, arms):
        self.arms, self.asked = arms, 0
        self.store_key = [int(arm) for arm in arms]

    def ask(self, subject=None):
        """Return the next arm."""
        self.asked += 1
        return ls.learning.Pull(self.asked, self.arms[self.asked % len(self.arms)], 1, subject)

    def tell(self, pull_id, reward):
        """Learn nothing."""


def prior(good):
    """Believe firmly that arm ``good`` always pays and the other never does."""
    return Prior.from_bandit(ls.instances.stationary([good == 0, good == 1]), strength=500.0)


def closing(arms):
    """Return a factory that holds its arms in a closure."""
    return lambda initial: ls.FixedCycle(arms, 2, initial=initial)


DIFFERENT = {
    "priors": (
        partial(ls.RotationUCB, prior=prior(0)),
        partial(ls.RotationUCB, prior=prior(1)),
    ),
    "arguments of what is no Policy": (lambda: Turns([0, 1]), lambda: Turns([0, 0, 1])),
    "partials": (partial(Turns, [0, 1]), partial(Turns, [0])),
    "arrays": (partial(Turns, np.array([0] * 2000 + [1])), partial(Turns, np.array([1] * 2001))),
    "closures": (closing([0]), closing([0, 1])),
    "defaults": (
        lambda initial, arms=(0,): ls.FixedCycle(arms, 2, initial=initial),
        lambda initial, arms=(0, 1): ls.FixedCycle(arms, 2, initial=initial),
    ),
}


@pytest.mark.parametrize("change", DIFFERENT)
def test_what_differs_is_run_again(change, tmp_path):
    """Two policies of one name, in one store, each get their own results."""
    first, second = DIFFERENT[change]
    expected = [alone(first), alone(second)]
    assert expected[0] != expected[1]
    assert both(first, second, tmp_path) == expected


@pytest.mark.parametrize("change", DIFFERENT)
def test_what_is_the_same_is_not_run_again(change, tmp_path):
    """The same factory finds everything there: the keys are no mere chance."""
    first, _ = DIFFERENT[change]
    quiet(TWO, {"it": first}, store=tmp_path)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("tasks/*/*.json")}
    assert len(files) == 3
    quiet(TWO, {"it": first}, store=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("tasks/*/*.json")} == files


MODULE = """
import lastswitch as ls
{helper}
class Mine(ls.FixedCycle):
    store_key = {key!r}

    def choose(self, track, allowed):
        return 0 if track.clock % {period} else 1
"""
SCRIPT = """
import sys
from functools import partial
from pathlib import Path
import lastswitch as ls
from mine import Mine
found = ls.compare(
    ls.instances.two_arms(), {"mine": partial(Mine, [0, 1])}, 50, 1, n_jobs=1,
    store=sys.argv[1], progress=False,
)
print(*found.arm_plays("mine").mean.tolist(), len(list(Path(sys.argv[1]).glob("tasks/*/*.json"))))
"""


def ran(folder, key, period, helper=""):
    """Write a policy of the caller's own, run it on the store; return its plays and the files."""
    (folder / "mine.py").write_text(MODULE.format(key=key, period=period, helper=helper))
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-B", folder / "script.py", folder / "store"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    first, second, files = done.stdout.split()
    return float(first), float(second), int(files)


def test_a_class_of_one_s_own_is_told_by_the_key_it_names(tmp_path):
    """A new key, another policy; the same key, the same, whatever was edited."""
    assert ran(tmp_path, "one", 2) == (25, 25, 2)
    assert ran(tmp_path, "one", 2, "# a comment") == (25, 25, 2)
    assert ran(tmp_path, "one", 5) == (25, 25, 2)  # its word is taken
    assert ran(tmp_path, "two", 5) == (40, 10, 3)


class Keyless(ls.FixedCycle):
    """A policy of the caller's own that names no key."""


class Named(ls.FixedCycle):
    """One that does."""

    store_key = "1"


class Timed(ls.ISICombUCB1):
    """A policy of the caller's own that needs its horizon, and no key."""


class NamedTimed(Timed):
    """One with a key."""

    store_key = 1


def built_here(horizon):
    """Build a policy: a function within a policy is no plain value."""
    return ls.ISICombUCB1(2, horizon=horizon, initial=TWO.initial)


class Odd(ls.FixedCycle):
    """One whose key is no JSON value."""

    store_key = 1j


class Bare(Turns):
    """Ask and tell, and no key."""

    def __init__(self, arms):
        super().__init__(arms)
        del self.store_key


def locked(initial, lock=threading.Lock()):  # noqa: B008
    """Build a policy that holds a lock: what a factory itself is made of does not count."""
    assert lock
    return ls.FixedCycle([0, 1], initial=initial)


@pytest.mark.parametrize(
    ("factory", "doubt"),
    [
        (partial(Keyless, [0, 1]), "Keyless is a class of your own and has no store_key"),
        (partial(Bare, [0, 1]), "Bare is a class of your own and has no store_key"),
        (
            partial(ls.learning.Anytime, partial(Timed, 2, initial=TWO.initial)),
            "Timed is a class of your own",
        ),
        (partial(Odd, [0, 1]), "the store_key of Odd is no JSON"),
        (
            partial(ls.learning.Anytime, built_here),
            "cannot be described",
        ),
    ],
    ids=["policy", "stranger", "inner", "no JSON", "no plain value"],
)
def test_what_is_not_known_is_run_again_and_said(factory, doubt, tmp_path):
    """Its runs are not kept, with a warning; the others' are; without a store nothing is said."""
    policies = {"own": factory, "open": partial(ls.FixedCycle, [0, 1])}
    for _ in range(2):
        with pytest.warns(LastSwitchWarning, match=f"'own' are not kept .*{doubt}.*store_key"):
            quiet(TWO, policies, store=tmp_path)
    assert len(list(tmp_path.glob("tasks/*/*.json"))) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(TWO, policies)


@pytest.mark.parametrize(
    "factory",
    [
        partial(Named, [0, 1]),
        partial(ls.learning.Anytime, partial(NamedTimed, 2, initial=TWO.initial)),
        locked,
    ],
    ids=["policy", "inner", "function"],
)
def test_what_is_known_is_kept(factory, tmp_path):
    """A class that names its key, also within another, and any function that builds a policy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LastSwitchWarning)
        quiet(TWO, {"it": factory}, store=tmp_path)
    assert len(list(tmp_path.glob("tasks/*/*.json"))) == 3


def test_two_classes_of_one_key_are_not_mistaken(tmp_path):
    """The key is a class's own."""
    other = type("Other", (Named,), {"choose": lambda self, track, allowed: 0})
    assert both(partial(Named, [0, 1]), partial(other, [0, 1]), tmp_path) == [
        alone(partial(Named, [0, 1])),
        alone(partial(other, [0, 1])),
    ]


def test_a_changed_library_runs_everything_again(tmp_path, monkeypatch):
    """Sources are part of every key: results of another release, or of an edit, do not count."""
    from lastswitch.experiments import tasks

    cycle = {"it": partial(ls.FixedCycle, [0, 1])}
    quiet(TWO, cycle, store=tmp_path)
    monkeypatch.setattr(tasks, "library_digest", lambda: "of another release")
    quiet(TWO, cycle, store=tmp_path)
    assert len(list(tmp_path.glob("tasks/*/*.json"))) == 6


def test_the_library_s_digest_follows_its_sources(tmp_path):
    """A kernel that is edited changes it; a command does not."""
    import shutil

    copied = shutil.copytree(Path(ls.__file__).parent, tmp_path / "lastswitch")
    code = "from lastswitch._utils.sources import library_digest; print(library_digest())"

    def told():
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-B", "-c", code]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    before = told()
    (copied / "cli" / "compare.py").open("a").write("\n# said otherwise\n")
    assert told() == before
    (copied / "_block_kernel.py").open("a").write("\n# computed otherwise\n")
    assert told() != before


@pytest.mark.parametrize(
    "factory",
    [
        partial(ls.FixedCycle, np.array([0, 1])),
        partial(ls.ISICombUCB1, n_arms=np.int64(2), alpha=np.float32(1.5), length=np.int64(4)),
        partial(Turns, np.array([0, 1])),
        lambda initial: ls.FixedCycle([0, 1], initial=np.array(initial)),
    ],
    ids=["array", "numbers", "stranger", "initial"],
)
def test_numpy_arguments_are_as_good_as_python_s(factory, tmp_path):
    """They run, are kept, found again, saved and loaded."""
    first, second = (quiet(TWO, {"it": factory}, store=tmp_path / "store") for _ in range(2))
    assert len(list(tmp_path.glob("store/tasks/*/*.json"))) == 3
    saved = [c.save(tmp_path / f"{n}.npz").read_bytes() for n, c in enumerate((first, second))]
    assert saved[0] == saved[1]
    assert ls.load_comparison(tmp_path / "0.npz").provenance == first.provenance


def test_two_threads_share_one_store(tmp_path):
    """Each gets the numbers of one alone, and nothing half-written stays behind."""
    cycles = {f"cycle {k}": partial(ls.FixedCycle, [0, 1]) for k in range(8)}
    expected = quiet(TWO, cycles, runs=10).save(tmp_path / "alone.npz").read_bytes()
    gate, found = threading.Barrier(4), {}

    def work(number):
        gate.wait()
        found[number] = quiet(TWO, cycles, runs=10, store=tmp_path / "store")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert found[number].save(tmp_path / f"{number}.npz").read_bytes() == expected
    assert not list(tmp_path.glob("store/incoming/*"))


@contextmanager
def unprivileged():
    """Be nobody for a while, if we are root, whom no permission stops."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_complete_store_may_be_read_only():
    """All is there: nothing needs writing. One more run, and it is told before anything runs."""
    cycle = {"it": partial(ls.FixedCycle, [0, 1])}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = quiet(TWO, cycle, store=folder / "store")
        folder.chmod(0o755)
        for path in (folder / "store").rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        (folder / "store").chmod(0o555)
        with unprivileged():
            again = quiet(TWO, cycle, store=folder / "store")
            with pytest.raises(ExperimentError, match="cannot keep results in"):
                quiet(TWO, cycle, store=folder / "store", runs=3)
        for path in (folder / "store", *(folder / "store").rglob("*")):
            path.chmod(0o755)
        assert again.policies["it"].collected.tolist() == first.policies["it"].collected.tolist()
