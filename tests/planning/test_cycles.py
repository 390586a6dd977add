"""The best cycle of a length, against enumeration and against the true average."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import LastSwitchError, PlanError
from lastswitch.model.instances import five_arms
from lastswitch.model.states import moved
from lastswitch.planning import BlockProblem, clock
from lastswitch.planning.cycles import settled_state
from lastswitch.planning.diagrams.arm_states import arm_states
from lastswitch.planning.diagrams.cycle import cycle_model
from planning.interrupting import CtrlC
from strategies import bandits, blocks, curves


def best_by_enumeration(bandit, length):
    """Return the most any cycle of this length pays, by trying them."""
    return max(ls.cycle_reward(bandit, c) for c in product(range(bandit.n_arms), repeat=length))


@given(bandits(max_arms=3, max_rest=5, max_streak=3), st.integers(1, 5))
@settings(max_examples=30)
def test_plan_cycle_agrees_with_enumeration(bandit, length):
    """The planned cycle pays what the best of all cycles pays, and its bound says so."""
    plan = ls.plan_cycle(bandit, length)
    assert plan.value == pytest.approx(best_by_enumeration(bandit, length), abs=1e-9)
    assert plan.value == pytest.approx(ls.cycle_reward(bandit, plan.block), abs=1e-9)
    assert plan.optimal
    assert plan.repeats


@given(bandits(max_arms=3, max_rest=4), st.integers(2, 6))
@settings(max_examples=30)
def test_identical_arms_change_nothing(bandit, length):
    """Adding a twin of an arm never lowers the best, and enumeration agrees."""
    twinned = ls.Bandit([*bandit.curves[:2], bandit.curves[0]])
    plan = ls.plan_cycle(twinned, length)
    assert plan.value == pytest.approx(best_by_enumeration(twinned, length), abs=1e-9)


@given(bandits(max_arms=3, max_rest=4), st.integers(1, 8))
@settings(max_examples=30)
def test_no_cycle_beats_the_true_average(bandit, length):
    """A cycle's mean is at most the best average, and its bound at most the frequency bound."""
    plan = ls.plan_cycle(bandit, length)
    assert plan.value / length <= ls.optimal_average(bandit).value + 1e-9
    assert plan.bound / length <= ls.average_bound(bandit) + 1e-6


@given(st.data())
@settings(max_examples=30)
def test_cycle_automata_pay_what_the_cycle_pays(data):
    """A cycle cut where a run of its first arm begins is worth r(B | τ_B) to the automata."""
    bandit = data.draw(bandits(min_arms=2, max_arms=3))
    block = data.draw(blocks(bandit.n_arms, min_size=2, max_size=9))
    if 0 not in block or len(set(block)) == 1:
        block = [0, *block[1:-1], 1]
    cut = next(t for t in range(len(block)) if block[t] == 0 and block[t - 1] != 0)
    turned = block[cut:] + block[:cut]
    automata = cycle_model([arm_states(c) for c in bandit.curves], len(turned))
    assert automata.value(turned) == pytest.approx(ls.cycle_reward(bandit, turned), abs=1e-9)


def test_a_run_that_would_wrap_is_left_to_another_cut():
    """Automata refuse a cycle cut inside a run, or that starts with another arm."""
    machines = [arm_states(ls.Curve([1.0], [0.5, 0.0]))] * 2
    automata = cycle_model(machines, 4)
    assert automata.value([0, 1, 1, 0]) == -np.inf
    assert automata.value([1, 0, 0, 0]) == -np.inf
    assert automata.value([0, 0, 1, 1]) > 0


def test_the_paper_s_cycle_is_found():
    """Nine rounds of the five arms pay 4.56."""
    plan = ls.plan_cycle(five_arms(), 9)
    assert plan.value == pytest.approx(4.56)
    assert plan.optimal


def test_an_endless_streak_can_be_the_best_cycle():
    """A lone constant arm is worth repeating."""
    bandit = ls.Bandit([ls.Curve([0.1], [0.1]), ls.Curve([0.8, 0.9], [0.85, 0.8])])
    plan = ls.plan_cycle(bandit, 3)
    assert plan.block == (1, 1, 1)
    assert plan.value == pytest.approx(2.4)


@pytest.mark.parametrize(("length", "average"), [(2, 0.5), (3, 2 / 3), (4, 0.75)])
def test_best_cycle_of_any_length_up_to_a_limit(length, average):
    """The pinwheel [2, 3] reaches its 3/4 from four rounds on."""
    best = ls.best_cycle(ls.instances.pinwheel([2, 3]), length)
    assert best.optimal
    assert best.per_round == pytest.approx(average)
    assert len(best.block) <= length


@given(bandits(max_arms=2, max_rest=4), st.integers(1, 6))
@settings(max_examples=25)
def test_best_cycle_agrees_with_enumeration_of_all_lengths(bandit, limit):
    """Planning the upper half of the lengths finds the best of all of them."""
    best = ls.best_cycle(bandit, limit)
    expected = max(best_by_enumeration(bandit, n) / n for n in range(1, limit + 1))
    assert best.per_round == pytest.approx(expected, abs=1e-9)
    assert best.optimal


def test_out_of_time_gives_a_cycle_and_a_bound():
    """A limit that ends the search early still leaves a cycle under a true bound."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(20)), [0.0]) for _ in range(10)])
    plan = ls.plan_cycle(bandit, 40, time_limit=0.5)
    assert plan.value == pytest.approx(ls.cycle_reward(bandit, plan.block))
    assert plan.value <= plan.bound <= 40 * ls.average_bound(bandit) + 1e-6


@pytest.mark.parametrize("reports", [1, 20])  # while it scouts, and while it searches
def test_ctrl_c_returns_the_best_so_far(reports):
    """An interrupt ends the search, not the program, and leaves a cycle under a true bound."""
    rng = np.random.default_rng(0)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(30)), [0.0]) for _ in range(15)])
    ctrl_c = CtrlC(reports)
    plan = ls.plan_cycle(bandit, 45, progress=ctrl_c)
    assert len(ctrl_c.heard) == reports
    assert plan.value == pytest.approx(ls.cycle_reward(bandit, plan.block))
    assert plan.value <= plan.bound <= 45 * ls.average_bound(bandit) + 1e-6


def test_a_gap_stops_early_within_it():
    """The cycle is at most the asked share below its bound."""
    rng = np.random.default_rng(1)
    bandit = ls.Bandit([ls.Curve(np.sort(rng.random(12)), [0.0]) for _ in range(5)])
    assert ls.plan_cycle(bandit, 20, gap=0.05).gap <= 0.05 + 1e-9


@given(bandits(), st.data())
@settings(max_examples=40)
def test_the_settled_state_is_where_every_turn_starts(bandit, data):
    """Playing the cycle from its settled state comes back to it, unless the streak is endless."""
    block = data.draw(blocks(bandit.n_arms))
    state = settled_state(bandit, block)
    assert ls.block_reward(bandit, block, state) == pytest.approx(ls.cycle_reward(bandit, block))
    if len(set(block)) > 1:
        used = sorted(set(block))
        assert ls.states.state_after(state, block)[used].tolist() == state[used].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"gap": -0.1}, "gap"), ({"time_limit": 0.0}, "time_limit")],
)
def test_options_that_make_no_sense_are_refused(options, message):
    """The message names the option."""
    with pytest.raises(PlanError, match=message):
        ls.plan_cycle(five_arms(), 4, **options)


def test_a_cycle_needs_a_round():
    """A length of 0 is refused."""
    with pytest.raises(LastSwitchError, match="at least 1"):
        ls.plan_cycle(five_arms(), 0)


@given(curves(), st.integers(-9, 9).filter(bool), st.lists(st.booleans(), max_size=30))
@settings(max_examples=150)
def test_canonical_states_pay_what_the_curve_pays(curve, tau, played):
    """Along any history the merged states pay exactly what the curve pays."""
    machine = arm_states(curve)
    state = machine.at(tau)
    for pull in played:
        assert machine.pay[state] == curve(tau)
        assert state == machine.at(tau)
        if pull:
            state, tau = machine.on_pull[state], moved(tau, True)
        else:
            state, tau = machine.on_idle[state], moved(tau, False)


@pytest.mark.parametrize(
    ("curve", "states"),
    [
        (ls.Curve([0.3, 0.3], [0.3]), 1),
        (ls.Curve([0, 0, 1, 1], [0]), 4),
        (ls.Curve([0.1, 0.9, 0.1, 0.9], [0.1], tail="repeat"), 3),
        (ls.Curve([1], [0.5, 0.2, 0.2]), 3),
    ],
)
def test_states_that_cannot_be_told_apart_are_one(curve, states):
    """Constants, plateaus, seasons and flat streaks collapse."""
    machine = arm_states(curve)
    reached = {machine.at(tau) for tau in range(-10, 11) if tau}
    assert len(reached) == states


def many_arms(n_arms, seed=0, depth=10):
    """Return a bandit of many different arms that recover."""
    rng = np.random.default_rng(seed)
    return ls.Bandit([ls.Curve(np.sort(rng.random(depth)), [0.0]) for _ in range(n_arms)])


@pytest.mark.parametrize("n_arms", [300, 1000])
def test_many_arms_leave_a_good_cycle_and_a_close_bound(n_arms):
    """Out of time among many arms, the answer is within a per cent or so of its bound."""
    bandit = many_arms(n_arms)
    plan = ls.plan_cycle(bandit, 12, time_limit=1.0)
    assert plan.value == pytest.approx(ls.cycle_reward(bandit, plan.block))
    assert plan.gap < 0.05
    assert plan.bound <= 12 * ls.average_bound(bandit) * (1 + 1e-9)


class Ticks:
    """A clock that counts how often it is looked at, and is over after so many looks."""

    def __init__(self, looks):
        self.looks = looks

    def __call__(self):
        """Return the looks so far, as seconds."""
        self.looks += 1
        return float(self.looks)


@pytest.mark.parametrize("n_arms", [30, 300])
def test_a_cycle_looks_at_the_clock_all_the_time(monkeypatch, n_arms):
    """By a clock that moves at every look, a limit of a few looks is kept within a few more."""
    bandit = many_arms(n_arms)
    ls.plan_cycle(bandit, 2, time_limit=10.0)  # no limit pays for loading kernels
    ticks = Ticks(0)
    monkeypatch.setattr(clock.time, "perf_counter", ticks)
    plan = ls.plan_cycle(bandit, 12, time_limit=10.0)
    assert ticks.looks < 150
    assert plan.value <= plan.bound <= 12.0


@given(bandits(min_arms=2, max_arms=3, max_rest=4), st.integers(2, 5), st.data())
@settings(max_examples=25, deadline=None)
def test_a_cycle_of_some_arms_is_the_best_of_those(bandit, length, data):
    """Allowed arms by number, or by True and False, leave out the others and nothing else."""
    arms = data.draw(st.lists(st.integers(0, bandit.n_arms - 1), min_size=1, unique=True))
    plan = ls.plan_cycle(bandit, length, allowed=arms)
    cycles = product(arms, repeat=length)
    assert plan.value == pytest.approx(max(ls.cycle_reward(bandit, c) for c in cycles), abs=1e-9)
    assert set(plan.block) <= set(arms)
    mask = [arm in arms for arm in range(bandit.n_arms)]
    assert ls.plan_cycle(bandit, length, allowed=mask).value == plan.value
    assert ls.best_cycle(bandit, length, allowed=mask).optimal


@pytest.mark.parametrize("allowed", [[1, 0, 0], [0.5] * 3, [True], [3], [False] * 3])
def test_allowed_means_the_same_everywhere_or_is_refused(allowed):
    """What one planner refuses all refuse, and so does a policy."""
    bandit = many_arms(3)
    for plan in (ls.plan_block, ls.plan_cycle, ls.best_cycle):
        with pytest.raises(LastSwitchError, match="allowed"):
            plan(bandit, 3, allowed=allowed)
    with pytest.raises(LastSwitchError, match="allowed"):
        ls.RotationUCB(3).ask(allowed=allowed)


@given(bandits(min_arms=2, max_arms=3, max_rest=4), st.integers(1, 5), st.data())
@settings(max_examples=25, deadline=None)
def test_a_mask_by_round_is_kept_in_every_turn(bandit, length, data):
    """The best of the cycles that the table admits, wherever their runs wrap around."""
    row = st.lists(st.booleans(), min_size=bandit.n_arms, max_size=bandit.n_arms).filter(any)
    mask = data.draw(st.lists(row, min_size=length, max_size=length))
    plan = ls.plan_cycle(bandit, length, allowed=mask)
    cycles = product(*([arm for arm, may in enumerate(slot) if may] for slot in mask))
    assert plan.value == pytest.approx(max(ls.cycle_reward(bandit, c) for c in cycles), abs=1e-9)
    assert plan.value == pytest.approx(ls.cycle_reward(bandit, plan.block), abs=1e-9)
    assert plan.optimal
    assert plan.repeats
    assert all(mask[slot][arm] for slot, arm in enumerate(plan.block))


def test_a_mask_by_round_needs_a_length_and_a_row_for_each_round():
    """The message says what to do instead."""
    bandit, mask = many_arms(3), np.ones((4, 3), dtype=bool)
    with pytest.raises(LastSwitchError, match="shape \\(5, 3\\)"):
        ls.plan_cycle(bandit, 5, allowed=mask)
    with pytest.raises(PlanError, match="plan_cycle the length"):
        ls.best_cycle(bandit, 4, allowed=mask)


def test_small_pays_are_not_called_optimal_for_being_small():
    """Pays of 1e-11 have the same proofs as pays of 1, and the same gaps."""
    small = ls.Bandit([ls.Curve(np.array(c.rest) * 1e-11, [0.0]) for c in many_arms(4).curves])
    large = ls.Bandit([ls.Curve(c.rest, [0.0]) for c in many_arms(4).curves])
    assert ls.plan_cycle(small, 6).value == pytest.approx(1e-11 * ls.plan_cycle(large, 6).value)
    assert ls.optimal_average(small).value == pytest.approx(
        1e-11 * ls.optimal_average(large).value, rel=1e-9
    )
    assert not ls.Plan((0,), 1e-11, 2e-11).optimal
    assert ls.Plan((0,), 1e-11, 1e-11).optimal


def test_progress_is_told_by_every_search():
    """Cycles, averages and totals report values under their bounds."""
    bandit = many_arms(12)
    calls = {
        "cycle": lambda tell: ls.plan_cycle(bandit, 30, time_limit=0.8, progress=tell),
        "best": lambda tell: ls.best_cycle(bandit, 30, time_limit=0.8, progress=tell),
        "average": lambda tell: ls.optimal_average(bandit, time_limit=0.8, progress=tell),
        "total": lambda tell: ls.optimal_total(bandit, 900, time_limit=0.8, progress=tell),
    }
    for name, call in calls.items():
        heard: list[ls.Progress] = []
        call(heard.append)
        assert heard, name
        assert not any(now.value > now.bound * (1 + 1e-9) for now in heard)


@pytest.mark.parametrize("rules", [None, [], (), iter(())])
def test_no_rules_at_all_are_planned_as_none_are(rules):
    """A caller that always says rules= gets the planner without rules, which proves more."""
    bandit = ls.instances.five_arms()
    options = {"rules": rules, "plays": (1, 1), "silence": 0.25}
    plan = ls.plan_cycle(bandit, 9, **options)
    assert isinstance(plan.problem, BlockProblem)
    assert plan.block == ls.plan_cycle(bandit, 9).block
    options = {"rules": [], "plays": 1}
    assert isinstance(ls.best_cycle(bandit, 9, **options).problem, BlockProblem)
    assert isinstance(ls.plan_block(bandit, 9, **options).problem, BlockProblem)
    ruled = ls.Bandit(bandit.curves, rules=[r.at_most(0, 3)])
    assert isinstance(ls.plan_cycle(ruled, 9, rules=[]).problem, BlockProblem)
    assert not isinstance(ls.plan_cycle(ruled, 9).problem, BlockProblem)
