"""The paper's learners against plain recomputations of what the paper prints."""

import math
import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import PolicyError
from lastswitch.learning import CalibratedCombUCB1, CombUCB1, DoublePlayCombUCB1, ISICombUCB1

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=8, deadline=None)


def played(policy, rounds, seed, late=False):
    """Play ``rounds`` with random rewards, told at once or late; return [(pull, reward)]."""
    rng, history, waiting = random.Random(seed), [], []
    for _ in range(rounds):
        pull = policy.ask()
        history.append((pull, float(rng.random() < 0.4)))
        waiting.append(history[-1])
        if not late or rng.random() < 0.3:
            rng.shuffle(waiting)
            for asked, reward in waiting:
                policy.tell(asked.id, reward)
            waiting.clear()
    for asked, reward in waiting:
        policy.tell(asked.id, reward)
    return history


def in_blocks(history, size):
    """Cut ``history`` into blocks of ``size`` rounds."""
    return [history[at : at + size] for at in range(0, len(history), size)]


def delay(tau):
    """Return the paper's delay of a state."""
    return tau + 1 if tau > 0 else 1


def recomputed(blocks, key):
    """Return the rewards by (arm, key(τ)) of every pull that is not its block's first of an arm."""
    rewards = {}
    for block in blocks:
        seen = set()
        for pull, reward in block:
            if pull.arm in seen:
                rewards.setdefault((pull.arm, key(pull.tau)), []).append(reward)
            seen.add(pull.arm)
    return rewards


def states_of(block):
    """Return (arm, state) of each pull of ``block`` whose state the block itself tells."""
    states, found = {}, []
    for arm in block:
        tau = states.get(arm)
        if tau is not None:
            found.append((arm, tau))
        states = {other: max(state, 0) + 1 for other, state in states.items()}
        states[arm] = tau - 1 if tau is not None and tau < 0 else -1
    return found


def worth(block, rewards, key, alpha, t):
    """Return Algorithm 1's objective as (pulls of unseen states, sum of the finite bounds)."""
    unseen, total = 0, 0.0
    for arm, tau in states_of(block):
        seen = rewards.get((arm, key(tau)))
        if seen is None:
            unseen += 1
        else:
            total += sum(seen) / len(seen) + math.sqrt(alpha * math.log(t) / len(seen))
    return unseen, total


def assert_best(block, rewards, key, alpha, t, streaks, n_arms):
    """No block beats ``block``: unseen states compared first, then the finite bounds."""
    chosen = worth(block, rewards, key, alpha, t)
    for other in product(range(n_arms), repeat=len(block)):
        if streaks and other[0] == other[1]:
            continue
        value = worth(other, rewards, key, alpha, t)
        assert value[0] <= chosen[0]
        if value[0] == chosen[0]:
            assert value[1] <= chosen[1] + 1e-9


@FEW
@given(SEEDS, st.booleans(), st.sampled_from([(2, 4), (3, 3)]))
def test_every_isi_block_is_algorithm_1_s(seed, streaks, size):
    """Each block maximises the calibrated bounds of the whole history, unseen states first."""
    n_arms, length = size
    policy = ISICombUCB1(n_arms, length, alpha=1.5, streaks=streaks)
    key = int if streaks else delay
    blocks = in_blocks(played(policy, 25 * length, seed), length)
    for t, block in enumerate(blocks, start=1):
        arms = [pull.arm for pull, _ in block]
        rewards = recomputed(blocks[: t - 1], key)
        assert_best(arms, rewards, key, 1.5, t, streaks, n_arms)
        if streaks:
            assert arms[0] != arms[1]


@FEW
@given(SEEDS, st.booleans(), st.booleans())
def test_isi_estimates_equal_the_history_without_first_pulls(seed, streaks, late):
    """Counts and sums are those of all pulls but each block's first of each arm."""
    policy = ISICombUCB1(3, 4, streaks=streaks, initial=-1)
    blocks = in_blocks(played(policy, 80, seed, late), 4)
    expected = recomputed(blocks, int if streaks else delay)
    estimates = policy.estimates
    counts, sums = [0] * len(estimates.counts), [0.0] * len(estimates.sums)
    for (arm, state), rewards in expected.items():
        cell = estimates.cell(arm, state if streaks else state - 1)
        counts[cell], sums[cell] = len(rewards), sum(rewards)
    assert estimates.counts == counts
    assert estimates.sums == sums


@FEW
@given(SEEDS, st.booleans())
def test_combucb1_estimates_equal_the_whole_history(seed, late):
    """Every pull is counted, those beyond delay d as delay d."""
    policy = CombUCB1(3, 3, initial=-1)
    history = played(policy, 90, seed, late)
    expected = [[] for _ in range(9)]
    for pull, reward in history:
        expected[3 * pull.arm + (min(delay(pull.tau), 3) - 2) % 3].append(reward)
    assert policy.estimates.counts == [len(rewards) for rewards in expected]
    assert policy.estimates.sums == [sum(rewards) for rewards in expected]
    assert any(delay(pull.tau) > 3 for pull, _ in history)


@FEW
@given(SEEDS)
def test_combucb1_plans_from_the_running_state(seed):
    """Each block maximises the bounds of the states it meets, first pulls included."""
    policy = CombUCB1(3, 3, initial=-1)
    state, rewards = [-1] * 3, {}
    for t, block in enumerate(in_blocks(played(policy, 60, seed), 3), start=1):

        def value(arms, state=state, rewards=rewards, t=t):
            unseen, total, now = 0, 0.0, state
            for arm in arms:
                seen = rewards.get((arm, min(delay(int(now[arm])), 3)))
                now = ls.states.transition(now, arm)
                if seen is None:
                    unseen += 1
                else:
                    total += sum(seen) / len(seen) + math.sqrt(1.5 * math.log(t) / len(seen))
            return unseen, round(total, 9)

        arms = [pull.arm for pull, _ in block]
        assert value(arms) == max(map(value, product(range(3), repeat=3)))
        for pull, reward in block:
            rewards.setdefault((pull.arm, min(delay(pull.tau), 3)), []).append(reward)
            state = ls.states.transition(state, pull.arm)


def test_calibration_comes_before_every_block_and_teaches_nothing():
    """Each turn opens with the order; only the block after it is counted."""
    policy = CalibratedCombUCB1(3, 4, order=[2, 0, 1])
    turns = in_blocks(played(policy, 70, seed=1), 7)
    assert all([pull.arm for pull, _ in turn[:3]] == [2, 0, 1] for turn in turns)
    assert sum(policy.estimates.counts) == 4 * len(turns)
    assert sum(policy.estimates.sums) == sum(r for turn in turns for _, r in turn[3:])


def test_calibration_plans_from_the_state_the_order_leaves():
    """An order that ends with the spike's arm lets the block collect the spike."""
    policy = CalibratedCombUCB1(5, 3, order=[4, 3, 2, 1, 0], initial=-1)
    run = ls.simulate(ls.instances.five_arms(), policy, 1600, seed=3)
    assert run.states()[0, 2] > 100  # of 200 blocks


@settings(max_examples=4, deadline=None)
@given(SEEDS, st.booleans())
def test_double_play_repeats_the_best_cycle_and_learns_from_the_second(seed, streaks):
    """Each turn is one block twice: the best as a cycle under the bounds of all second plays."""
    policy = DoublePlayCombUCB1(2, 3, streaks=streaks)
    turns, rewards = in_blocks(played(policy, 90, seed), 6), {}

    def key(tau):
        return (max(tau, -3) if streaks else -1) if tau < 0 else min(tau, 2)

    for t, turn in enumerate(turns, start=1):
        arms = [pull.arm for pull, _ in turn]
        assert arms[:3] == arms[3:]

        def value(block, t=t):
            endless = len(set(block)) == 1
            state = ls.states.state_after([1, 1], block)
            unseen, total = 0, 0.0
            for arm in block:
                seen = rewards.get((arm, key(-9 if endless else int(state[arm]))))
                state = ls.states.transition(state, arm)
                if seen is None:
                    unseen += 1
                else:
                    total += sum(seen) / len(seen) + math.sqrt(1.5 * math.log(t) / len(seen))
            return unseen, round(total, 7)

        assert value(arms[:3]) == max(map(value, product(range(2), repeat=3)))
        for pull, reward in turn[3:]:
            rewards.setdefault((pull.arm, key(pull.tau)), []).append(reward)
    counts = [0] * len(policy.estimates.counts)
    for (arm, tau), seen in rewards.items():
        counts[policy.estimates.cell(arm, tau)] = len(seen)
    assert policy.estimates.counts == counts


def test_a_masked_order_still_separates_calibration_from_block():
    """Arms that are not allowed are left out of the order, and the block is learned from."""
    policy = CalibratedCombUCB1(3, 2, order=[2, 0, 1])
    pulls = [policy.ask(allowed=[0, 1]) for _ in range(4)]
    assert [pull.arm for pull in pulls[:2]] == [0, 1]
    for pull in pulls:
        policy.tell(pull.id, 1.0)
    assert sum(policy.estimates.counts) == 2


def test_a_block_is_left_when_its_next_arm_is_not_allowed():
    """The next block uses allowed arms only, and its first pulls teach nothing again."""
    policy = ISICombUCB1(3, 4, streaks=True)
    first = policy.ask()
    for _ in range(8):
        pull = policy.ask(allowed=[first.arm])
        assert pull.arm == first.arm
    others = [arm for arm in range(3) if arm != first.arm]
    assert policy.ask(allowed=others).arm in others


def test_subjects_share_what_is_learned_and_keep_their_blocks():
    """Blocks of two subjects interleave without touching; t counts both."""
    policy = ISICombUCB1(3, 4)
    pulls = {"ann": [], "bob": []}
    for turn in range(24):
        subject = "ann" if turn % 3 else "bob"
        pull = policy.ask(subject)
        pulls[subject].append((pull, float(turn % 2)))
        policy.tell(pull.id, float(turn % 2))
    assert policy.blocks == 4 + 2
    blocks = in_blocks(pulls["ann"], 4) + in_blocks(pulls["bob"], 4)
    expected = recomputed(blocks, delay)
    assert sum(policy.estimates.counts) == sum(len(rewards) for rewards in expected.values())


@pytest.mark.parametrize("streaks", [False, True])
def test_the_horizon_chooses_the_block_by_the_theorem(streaks):
    """Without a block, the size that makes the regret bound smallest is taken."""
    policy = ISICombUCB1(3, streaks=streaks, horizon=10**9)
    assert policy.length == ls.paper.theory.best_block_size(3, 10**9, streaks)
    assert policy.length > 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ISICombUCB1(3), "give length, or horizon"),
        (lambda: ISICombUCB1(3, 1), "at least 2"),
        (lambda: ISICombUCB1(0, 4), "n_arms must be a whole number of at least 1, got 0"),
        (lambda: ISICombUCB1(3, 4, alpha=-1), "alpha"),
        (lambda: ISICombUCB1(3, 4, alpha="much"), "alpha must be at least 0, got 'much'"),
        (lambda: ISICombUCB1(3, 2.5), "length must be a whole number of at least 2, got 2.5"),
        (lambda: CombUCB1(3, 0), "length must be a whole number of at least 1, got 0"),
        (lambda: CalibratedCombUCB1(3, 2, order=[0, 1]), "each of the 3 arms once"),
        (lambda: CalibratedCombUCB1(2, 2, order=[0, 1.5]), r"once, got \[0, 1.5\]"),
        (lambda: ISICombUCB1(3, 4, solver="magic"), "magic"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(build, message):
    """What was given is in the message, before anything is played."""
    with pytest.raises((PolicyError, TypeError), match=message):
        build()


def test_isi_ends_at_the_paper_s_rate_on_the_five_arms():
    """Nearly every late block of four rounds earns about 1.25: spike, two constants, a first."""
    run = ls.simulate(ls.instances.five_arms(), ISICombUCB1(5, 4, initial=-1), 5112, seed=0)
    assert run.means[-1000:].mean() == pytest.approx(1.25 / 4, abs=0.02)


def test_isi_s_regret_stays_under_theorem_1():
    """What the optimum earns beyond ISI is less than the bound, at every horizon tried."""
    bandit = ls.instances.five_arms()
    for horizon in (400, 1600):
        run = ls.simulate(bandit, ISICombUCB1(5, 4, initial=-1), horizon, seed=1)
        regret = ls.optimal_total(bandit, horizon).value - run.mean_total
        assert 0 < regret < ls.paper.theory.regret_bound(5, horizon, length=4).total


def test_the_authors_solver_plans_the_same_rate():
    """With Algorithm 2 in the place of the exact planner, late blocks earn as much."""
    bandit = ls.Bandit([([0.0, 0.9, 0.0], [0.0]), ([0.2], [0.2])], initial=-1)
    rates = []
    for solver in ("certified", "relaxation"):
        policy = ISICombUCB1(2, 4, alpha=0.2, initial=-1, solver=solver)
        rates.append(ls.simulate(bandit, policy, 320, seed=2).means[-160:].mean())
    assert rates[1] == pytest.approx(rates[0], abs=0.03)
