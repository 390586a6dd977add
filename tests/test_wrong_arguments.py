"""What a caller can get wrong is said in the library's own words, whatever was given."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow
import pytest

import lastswitch as ls
from lastswitch import curves, instances, learning
from lastswitch.experiments.sweeps import read_sweep
from lastswitch.model.environment import LSDEnv
from lastswitch.model.files import bandit_to_dict, find_bandit
from lastswitch.paper import theory

BANDIT = ls.Bandit([ls.Curve([0.1, 0.9], [0.1, 0.0]), ls.curves.constant(0.3)])
PLAN = ls.Plan((0, 1), 1.0, 1.0)
LOG = pyarrow.table({"subject": ["a"], "time": [1], "arm": ["x"], "reward": [1]})
#: Things no argument below can be, of the kinds a slip of the pen makes.
JUNK = [None, "", b"x", 2.5, float("nan"), -1, [[]], {"a": 1}, object(), np.array(3), np.array([])]

CALLS: dict[str, Callable[[Any], object]] = {
    "block_pays": lambda x: ls.blocks.block_pays(x, [0, 1]),
    "block_reward": lambda x: ls.block_reward(x, [0, 1]),
    "calibrated_reward": lambda x: ls.blocks.calibrated_reward(x, [0, 1]),
    "cycle_reward": lambda x: ls.cycle_reward(x, [0, 1]),
    "average_bound": ls.average_bound,
    "plan_block": lambda x: ls.plan_block(x, 3),
    "plan_cycle": lambda x: ls.plan_cycle(x, 3),
    "from_bandit": lambda x: ls.BlockProblem.from_bandit(x, 3),
    "bandit_to_dict": bandit_to_dict,
    "a bandit's file": BANDIT.save,
    "a plan's file": PLAN.save,
    "load_bandit": ls.load_bandit,
    "load_plan": ls.load_plan,
    "find_bandit": find_bandit,
    "instance": instances.instance,
    "random_bandit": lambda x: instances.random_bandit(x, 2, 3, 0),
    "pinwheel": instances.pinwheel,
    "pinwheel_sqrt": instances.pinwheel_sqrt,
    "pinwheel_facts": theory.pinwheel_facts,
    "stationary": instances.stationary,
    "delay_dependent": instances.delay_dependent,
    "seasonal": instances.seasonal,
    "recharging": lambda x: instances.recharging(x, [2.0]),
    "recharging's scales": lambda x: instances.recharging([0.5], x),
    "blocking": lambda x: instances.blocking(x, [0.5]),
    "blocking's means": lambda x: instances.blocking([2], x),
    "satiating": lambda x: curves.satiating(x, 0.0, 2),
    "recovering": lambda x: curves.recovering(x, 2),
    "tail": lambda x: ls.Curve([0.1], [0.1], x),
    "monotone": lambda x: ls.Curve([0.1], [0.1], monotone=x),
    "curves": ls.Bandit,
    "noise": lambda x: ls.Bandit(BANDIT.curves, noise=x),
    "load_policy": ls.load_policy,
    "subject": lambda x: learning.UCB1(2).ask([x]),
    "tell": lambda x: learning.UCB1(2).tell(x, 1.0),
    "order": lambda x: learning.CalibratedCombUCB1(2, 3, order=[x]),
    "a policy's solver": lambda x: learning.CombUCB1(2, 3, solver=x),
    "a policy's streaks": lambda x: learning.ISICombUCB1(2, 3, streaks=x),
    "blocking policy's means": lambda x: learning.BlockingGreedy(x, [2]),
    "blocking policy's delays": lambda x: learning.BlockingUCB(2, x),
    "lookahead's method": lambda x: learning.Lookahead(2, method=x),
    "rotation's index": lambda x: ls.RotationUCB(2, index=x),
    "index": BANDIT.index,
    "tables": lambda x: BANDIT.tables(x, 1),
    "sample": lambda x: BANDIT.sample(0, 1, x),
    "repaired_block": lambda x: ls.blocks.repaired_block([0, 0, 1], x),
    "solver": lambda x: ls.plan_block(BANDIT, 3, solver=x),
    "distinct_start": lambda x: ls.plan_block(BANDIT, 3, distinct_start=x),
    "draw_curves": ls.figures.draw_curves,
    "environment": lambda x: LSDEnv(x, 5),
    "simulated log": lambda x: ls.logs.simulate(x, subjects=2, rounds=3, seed=0),
    "a log's idle": lambda x: ls.logs.simulate(BANDIT, subjects=1, rounds=1, seed=0, idle=x),
    "load_fit": ls.logs.load_fit,
    "predicted_gain": lambda x: ls.logs.predicted_gain(x, PLAN),
    "Comparison.load": ls.load_comparison,
    "read_sweep": read_sweep,
    "a plan's block": lambda x: ls.Plan(x, 1.0, 1.0),
    "a plan's entries": ls.Plan.from_dict,
    "streaks": lambda x: theory.regret_bound(2, 100, 10, streaks=x),
    "dividing": lambda x: theory.best_block_size(2, 100, dividing=x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_wrong_argument_raises_an_error_of_python_s_own(call: Callable[[Any], object]) -> None:
    """Whatever is given instead of what is asked for, the error is one of the library's."""
    for junk in JUNK:
        with pytest.raises(ls.LastSwitchError):
            call(junk)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ls.block_reward(None, [0]), "block_pays needs a Bandit, got NoneType"),
        (lambda: instances.pinwheel(3), "periods must be a list, one entry per arm; got 3"),
        (lambda: instances.instance(3), "a text such as 'five-arms', got 3"),
        (
            lambda: instances.pinwheel([10**9]),
            r"periods\[0\] must be at most 1000000, got 1000000000",
        ),
        (lambda: theory.regret_order("5", 10), "n_arms must be a whole number"),
        (lambda: theory.regret_bound(2, 100, 10, streaks=3), "streaks must be True or False"),
        (lambda: ls.load_bandit(3), "a path must be a string or a pathlib.Path, got 3"),
        (lambda: PLAN.save(""), "it names a folder; add a file name"),
        (lambda: ls.plan_block(BANDIT, 3, warm=[0, 1, 0]), "an earlier Plan, got list"),
        (lambda: ls.Plan((0, 1), "1", 1.0), "value must be a number, got '1'"),
        (lambda: ls.Plan((0, -1), 1.0, 1.0), "arms by number, 0 or more"),
        (lambda: ls.Plan((0, 1), 1.0, 1.0, problem=3), "must be a BlockProblem, got int"),
        (lambda: BANDIT.sample(0, [1, 2], np.random.default_rng(0)), "one state, an integer"),
        (lambda: ls.Bandit(BANDIT.curves, sigma=np.array([])), "sigma must be a number"),
        (lambda: ls.fit_curves(LOG, time=None), "time must be the name of a column, got None"),
        (lambda: ls.fit_curves(LOG, arm=3), "arm must be the name of a column, got 3"),
        (lambda: ls.fit_curves(LOG, every=[1]), "every must be a number of them"),
        (lambda: ls.fit_curves(LOG, strict="no"), "strict must be True or False, got 'no'"),
        (lambda: ls.Curve([0.1], [0.1], "holds"), r"did you mean 'hold'"),
        (lambda: learning.ThompsonSampling(2, seed=None).ask(), "has no seed; give it one"),
    ],
)
def test_the_message_says_what_was_given_and_what_is_wanted(
    call: Callable[[], object], words: str
) -> None:
    """A reader can mend the call without opening the source."""
    with pytest.raises(ls.LastSwitchError, match=words):
        call()


@pytest.mark.parametrize("entry", ["value", "block", "names", "problem"])
def test_a_plan_s_file_with_an_entry_of_the_wrong_kind_is_refused(tmp_path, entry):
    """The error names the file."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({**PLAN.to_dict(), entry: 3 if entry != "value" else "much"}))
    with pytest.raises(ls.errors.FileError, match=r"plan\.json: "):
        ls.load_plan(file)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"[1]", "is not a saved comparison"),
        (b'{"format": "lastswitch-comparison", "version": 1}', "written by lastswitch 0.1"),
    ],
)
def test_a_comparison_s_file_that_lacks_its_parts_is_refused(tmp_path, head, words):
    """What is no comparison, or one of another release, is called what it is."""
    np.savez(tmp_path / "found.npz", head=np.frombuffer(head, dtype=np.uint8))
    with pytest.raises(ls.errors.FileError, match=rf"found\.npz .*{words}"):
        ls.load_comparison(tmp_path / "found.npz")
