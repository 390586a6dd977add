"""Comparing policies: same numbers everywhere, true regret, failures that cost nothing else."""

from functools import partial

import numpy as np
import pytest

import lastswitch as ls
from lastswitch.errors import ExperimentError, FileError, InputTypeError
from lastswitch.experiments import FailedTasksError
from lastswitch.experiments.tasks import build, describe, task_seeds

TWO = ls.instances.two_arms()
CYCLES = {
    "alternate": partial(ls.FixedCycle, [0, 1]),
    "first arm": partial(ls.FixedCycle, [0]),
    "greedy": ls.learning.OracleGreedy,
    "isi": partial(ls.ISICombUCB1, length=5),
    "rotation": ls.RotationUCB,
}
quiet = partial(ls.compare, n_jobs=1, progress=False)


pytestmark = pytest.mark.xdist_group("comparing")  # what they share is made once


@pytest.fixture(scope="module")
def found():
    """Compare schedules and learners on the two arms."""
    return quiet(TWO, CYCLES, horizon=120, runs=4, seed=5)


def saved(comparison, folder, name="found.npz"):
    """Return the bytes a comparison is saved as."""
    return comparison.save(folder / name).read_bytes()


def test_two_workers_give_the_bytes_of_one(found, tmp_path):
    """Processes change nothing."""
    both = ls.compare(TWO, CYCLES, 120, 4, 5, n_jobs=2, progress=False)
    assert saved(both, tmp_path) == saved(found, tmp_path)


@pytest.mark.engines
@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_cluster_gives_the_bytes_of_one_process(found, backend, tmp_path):
    """A local cluster of either kind, started for this call, changes nothing."""
    there = ls.compare(TWO, CYCLES, 120, 4, 5, n_jobs=2, backend=backend, progress=False)
    assert saved(there, tmp_path) == saved(found, tmp_path)


@pytest.mark.engines
def test_a_running_dask_cluster_is_used_and_left_running(found, tmp_path):
    """The caller's client is still there afterwards."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = ls.compare(TWO, CYCLES, 120, 4, 5, backend="dask", progress=False)
        assert client.status == "running"
    assert saved(there, tmp_path) == saved(found, tmp_path)


def test_a_new_policy_leaves_the_others_alone(found):
    """A policy's numbers do not depend on who else runs, nor on the order."""
    alone = quiet(TWO, {"greedy": ls.learning.OracleGreedy}, horizon=120, runs=2, seed=5)
    assert np.array_equal(
        alone.policies["greedy"].collected, found.policies["greedy"].collected[:2]
    )


def test_regret_is_against_the_optimal_sequence(found):
    """Alternating is optimal here but for the first round; repeating loses 0.44 a round."""
    best = ls.optimal_total(TWO, 120)
    played = ls.block_reward(TWO, [0, 1] * 60)
    assert found.optimum.optimal
    assert found.regret("alternate").mean[-1] == pytest.approx(best.value - played)
    assert found.regret("first arm").mean[-1] == pytest.approx(best.value - 0.06 * 120)
    assert found.share("alternate").mean == pytest.approx(played / best.value)


def test_counts_of_a_known_schedule(found):
    """Plays, switches and states of alternating are what they must be."""
    assert found.switches("alternate").mean == 119
    assert found.arm_plays("alternate").mean.tolist() == [60, 60]
    assert list(found.states("alternate").items()) == [
        ((1, 1), 60.0),
        ((0, 1), 59.0),
        ((0, -1), 1.0),
    ]


def test_subjects_multiply_the_optimum():
    """Three subjects can earn three times as much."""
    one = quiet(TWO, {"c": CYCLES["alternate"]}, horizon=30, runs=1)
    three = quiet(TWO, {"c": CYCLES["alternate"]}, horizon=30, runs=1, subjects=3)
    assert three.optimum.value == pytest.approx(3 * one.optimum.value)
    assert three.share("c").mean == pytest.approx(float(one.share("c").mean))


def test_a_saved_comparison_comes_back_whole(found, tmp_path):
    """Load and save again: the same bytes, table and provenance."""
    again = ls.load_comparison(found.save(tmp_path / "a.npz"))
    assert saved(again, tmp_path) == saved(found, tmp_path)
    assert str(again.table()) == str(found.table())
    assert again.provenance == found.provenance


def test_a_file_that_is_no_comparison_is_refused(tmp_path):
    """Text, a cut file and a missing one each get a sentence."""
    whole = quiet(TWO, {"c": CYCLES["alternate"]}, horizon=30, runs=1).save(tmp_path / "a.npz")
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:200])
    for name in ("text.npz", "cut.npz"):
        with pytest.raises(FileError, match="not a saved comparison"):
            ls.load_comparison(tmp_path / name)
    with pytest.raises(FileError, match="does not exist"):
        ls.load_comparison(tmp_path / "none.npz")


def test_a_damaged_comparison_is_refused_or_the_same(tmp_path):
    """Two hundred bytes changed at random: a clear error, or nothing that matters."""
    whole = quiet(TWO, {"c": CYCLES["alternate"]}, horizon=30, runs=2)
    content = whole.save(tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for at, value in zip(rng.integers(len(content), size=200), rng.bytes(200), strict=True):
        (tmp_path / "b.npz").write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        try:
            again = ls.load_comparison(tmp_path / "b.npz")
        except FileError:
            refused += 1
        else:
            assert saved(again, tmp_path) == content
    assert refused > 100


def test_a_comparison_of_release_0_1_is_named(tmp_path):
    """Its format is known, and what to do is said."""
    old = np.frombuffer(b'{"format": "lastswitch-comparison", "version": 1}', dtype=np.uint8)
    np.savez_compressed(tmp_path / "old.npz", head=old)
    with pytest.raises(FileError, match=r"written by lastswitch 0\.1"):
        ls.load_comparison(tmp_path / "old.npz")


def test_provenance_says_what_was_run(found):
    """Versions, seed, instance and each policy's parameters travel with the result."""
    origin = found.provenance
    assert origin["seed"] == 5
    assert origin["versions"]["lastswitch"] == ls.__version__
    assert len(origin["instance"]) == 64
    assert origin["policies"][0]["parameters"]["block"] == [0, 1]


def test_tables_dress_for_every_occasion(found, tmp_path):
    """Markdown and text for people, CSV and Parquet with every number."""
    import pyarrow.parquet

    table = found.table()
    assert table.to_markdown().splitlines()[0].startswith("| Policy | Total |")
    assert table.to_csv(tmp_path / "t.csv").splitlines()[1].startswith("alternate,4,")
    read = pyarrow.parquet.read_table(table.to_parquet(tmp_path / "t.parquet")).to_pydict()
    assert read["policy"][0] == "alternate"
    assert read["plays_1"][0] == 60.0
    assert "alternate" in str(table)


def test_intervals_are_student_t(found):
    """The half width is the t quantile times the standard error."""
    from scipy import stats

    totals = found.policies["greedy"].collected[:, -1]
    low, high = stats.t.interval(0.95, 3, totals.mean(), stats.sem(totals))
    interval = found.total("greedy")
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))


def test_progress_reaches_the_caller():
    """A function given as progress hears of every task, the last one included."""
    heard = []
    ls.compare(TWO, {"c": CYCLES["alternate"]}, 10, 3, n_jobs=1, progress=heard.append)
    assert (heard[0].done, heard[0].total) == (0, 4)  # three runs and the optimum
    assert (heard[-1].done, heard[-1].total) == (4, 4)
    assert heard[-1].seconds >= heard[1].seconds >= 0


def failing(seed, initial):
    """Build a policy that raises in some runs only."""

    class Sometimes(ls.FixedCycle):
        store_key = 1

        def choose(self, track, allowed):
            if track.clock == 3 and seed % 2:
                raise RuntimeError("out of ideas")
            return super().choose(track, allowed)

    return Sometimes([0, 1], initial=initial)


def test_a_policy_that_raises_costs_only_its_own_tasks(tmp_path):
    """The error names the task; the other runs are in it, and in the store."""
    broken = [run for run in range(6) if task_seeds(0, "sometimes", run)[1] % 2]
    assert 0 < len(broken) < 6
    policies = {"sometimes": failing, "fine": CYCLES["alternate"]}
    with pytest.raises(FailedTasksError, match="out of ideas") as caught:
        quiet(TWO, policies, horizon=10, runs=6, store=tmp_path)
    assert f"policy 'sometimes', run {broken[0]}" in str(caught.value)
    assert len(caught.value.failures) == len(broken)
    assert "choose" in caught.value.failures[0].trace
    kept = caught.value.finished[""]
    assert len(kept.policies["fine"].runs) == 6
    assert kept.policies["sometimes"].runs.tolist() == sorted(set(range(6)) - set(broken))
    files = list(tmp_path.glob("tasks/*/*.json"))
    assert len(files) == 6 + (6 - len(broken)) + 1


def test_a_worker_that_dies_is_told_and_costs_only_what_was_in_flight(tmp_path):
    """The system ends a process: one clear error, what was finished is in the store."""

    def deadly(seed, initial):
        import os

        if seed == task_seeds(0, "deadly", 7)[1]:
            os._exit(1)
        return ls.FixedCycle([0, 1], initial=initial)

    with pytest.raises(ExperimentError, match="the loky workers broke down"):
        ls.compare(TWO, {"deadly": deadly}, 10, 8, n_jobs=2, store=tmp_path, progress=False)
    assert list(tmp_path.glob("tasks/*/*.json"))


def test_a_factory_that_cannot_travel_is_told():
    """What holds a lock cannot be sent to another process; the way out is said."""
    import threading

    lock = threading.Lock()
    made = {"locked": lambda: lock and ls.FixedCycle([0, 1], initial=-1)}
    with pytest.raises(ExperimentError, match=r"cannot be sent to the loky workers.*n_jobs=1"):
        ls.compare(TWO, made, 10, 2, n_jobs=2, progress=False)


def test_numbers_may_be_numpy_s():
    """NumPy integers give the results, and the file, of Python's."""
    cycle = {"alternate": lambda: ls.FixedCycle([0, 1], initial=-1)}
    made = [
        ls.compare(ls.instances.two_arms(), cycle, *given, n_jobs=1, progress=False)
        for given in ((20, 2, 3), map(np.int64, (20, 2, 3)))
    ]
    assert made[0].provenance == made[1].provenance
    assert type(made[1].seed) is int


def test_a_bandit_that_pays_nothing_is_compared_too():
    """All of nothing is everything, not a division by zero."""
    found = quiet(ls.instances.stationary([0.0, 0.0]), {"c": CYCLES["alternate"]}, 10, 2)
    assert found.share("c").mean == 1.0


def test_a_factory_that_cannot_build_stops_before_anything_runs(tmp_path):
    """The policy is named and nothing is stored."""
    with pytest.raises(ExperimentError, match="policy 'odd' cannot be built"):
        quiet(TWO, {"odd": partial(ls.FixedCycle, [])}, horizon=10, runs=2, store=tmp_path)
    assert not list(tmp_path.glob("tasks/*/*.json"))


def test_a_factory_gets_what_it_names():
    """Anything of bandit, n_arms, initial and seed; nothing else; partials keep their own."""
    seen = {}

    def factory(seed, bandit):
        seen.update(seed=seed, bandit=bandit)
        return ls.FixedCycle([0, 1], initial=bandit.initial)

    build(factory, TWO, seed=9)
    assert seen == {"seed": 9, "bandit": TWO}
    assert build(partial(ls.learning.OracleGreedy, seed=3), TWO, seed=9).seed == 3


def test_an_instance_instead_of_a_factory_is_refused():
    """One policy object cannot serve many runs."""
    with pytest.raises(InputTypeError, match="a callable that builds a fresh one"):
        describe(ls.FixedCycle([0, 1]), TWO)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 0}, "runs must be"),
        ({"horizon": -1}, "horizon must be"),
        ({"seed": -1}, "seed must be"),
        ({"policies": {}}, "nothing to compare"),
        ({"backend": "spark"}, "backend must be one of loky, ray, dask"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_calls_that_make_no_sense_are_refused(change, message):
    """The message names the argument."""
    given = {"policies": {"c": CYCLES["alternate"]}, "horizon": 10, "runs": 1, "progress": False}
    with pytest.raises(ExperimentError, match=message):
        ls.compare(TWO, **(given | change))


def test_asking_for_a_policy_that_was_not_run_suggests_one(found):
    """A slip of the pen is met with the nearest name."""
    with pytest.raises(ExperimentError, match="did you mean 'greedy'"):
        found.share("gredy")
