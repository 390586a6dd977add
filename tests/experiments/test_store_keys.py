"""A store never serves another experiment's results: whatever can change a run is in its key."""

import functools
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
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lastswitch as ls
from lastswitch.errors import ExperimentError, LastSwitchWarning
from lastswitch.experiments.identity import Untold, digest
from lastswitch.learning.rotation_prior import Prior

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
from helpers import first_arm
SECOND = 1

class Mine(ls.FixedCycle):
    def choose(self, track, allowed):
        return first_arm() if track.clock % 2 else SECOND
"""
HELPERS = """
def first_arm():
    return 0  # the good one
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


def ran(folder, module, helpers):
    """Write a policy of the caller's own, run it on the store; return its plays and the files."""
    (folder / "mine.py").write_text(module)
    (folder / "helpers.py").write_text(helpers)
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-B", folder / "script.py", folder / "store"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    first, second, files = done.stdout.split()
    return float(first), float(second), int(files)


def test_an_edited_policy_is_run_again_and_an_edited_comment_is_not(tmp_path):
    """Its own code, a constant it names, a helper it imports: each makes another policy."""
    assert ran(tmp_path, MODULE, HELPERS) == (25, 25, 2)
    assert ran(tmp_path, MODULE, HELPERS) == (25, 25, 2)
    assert ran(tmp_path, MODULE + "# a comment\n", HELPERS) == (25, 25, 2)
    assert ran(tmp_path, MODULE.replace("% 2", "% 5"), HELPERS) == (40, 10, 3)
    assert ran(tmp_path, MODULE.replace("SECOND = 1", "SECOND = 0"), HELPERS) == (50, 0, 4)
    assert ran(tmp_path, MODULE, HELPERS.replace("return 0", "return 1")) == (0, 50, 5)


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
    code = "from lastswitch.experiments.identity import library_digest; print(library_digest())"

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


def test_what_cannot_be_told_is_run_again_and_said(tmp_path):
    """A policy that holds a lock: its runs are not kept, with a warning; the others' are."""
    lock = threading.Lock()

    def locked(initial):
        assert lock
        return ls.FixedCycle([0, 1], initial=initial)

    policies = {"locked": locked, "open": partial(ls.FixedCycle, [0, 1])}
    for _ in range(2):
        with pytest.warns(LastSwitchWarning, match="'locked' are not kept .* holds a lock"):
            quiet(TWO, policies, store=tmp_path)
    assert len(list(tmp_path.glob("tasks/*/*.json"))) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(TWO, policies)  # without a store there is nothing to say


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


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | hnp.arrays(st.sampled_from([np.int64, np.float64]), hnp.array_shapes(max_dims=2, max_side=3)),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts) | st.tuples(parts, parts),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_values_are_told_apart_by_their_content(one, other):
    """A copy has the digest of its original; what is written differently has another."""
    import copy

    assert digest(one) == digest(copy.deepcopy(one))
    assert (digest(one) == digest(other)) == same(one, other)


def same(one, other):
    """Compare by type and content, NaN with NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    return repr(one) == repr(other)


def test_sets_are_told_in_any_order():
    """The same members, put in otherwise, are the same set."""
    names = [f"name {k}" for k in range(50)]
    backwards = set()
    for name in reversed(names):
        backwards.add(name)
    assert digest(set(names)) == digest(backwards)
    assert digest(set(names)) != digest(set(names[1:]))


def test_what_leads_back_to_itself_is_told():
    """A list that holds itself, and functions that call one another, come to an end."""
    ring = [1]
    ring.append(ring)
    other = [2]
    other.append(other)
    assert digest(ring) != digest(other)

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert digest(even) != digest(odd)


def test_a_cached_function_is_told_by_what_it_computes():
    """The wrapper alone would make all of them alike."""
    one, two = (functools.cache(part) for part in (lambda n: n + 1, lambda n: n + 2))
    assert digest(one) != digest(two)


def test_a_borrowed_name_is_not_taken_for_the_thing():
    """Decorators lend their product the name and module of a function of this library."""
    one, two = (functools.wraps(ls.simulate)(part) for part in (lambda n: n + 1, lambda n: n + 2))
    assert one.__module__ == two.__module__ == ls.simulate.__module__
    assert digest(one) != digest(two)
    assert digest(one) != digest(ls.simulate)


def test_what_has_no_content_is_untold():
    """Locks, generators and files."""
    with open(os.devnull) as file:
        for thing in (threading.Lock(), (n for n in range(3)), file):
            with pytest.raises(Untold):
                digest([thing])
