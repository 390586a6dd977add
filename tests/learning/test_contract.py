"""Every policy keeps the contract, and the checker catches those that do not."""

import random
from functools import partial

import pytest

import lastswitch as ls
from lastswitch.learning import (
    Anytime,
    CalibratedCombUCB1,
    CombUCB1,
    DoublePlayCombUCB1,
    FixedCycle,
    ISICombUCB1,
    OracleGreedy,
    Policy,
    load_policy,
)
from lastswitch.testing import check_policy

BANDIT = ls.Bandit(
    [ls.curves.constant(0.3), ls.curves.constant(0.3), ls.curves.step(2, 0.9), ([0.5], [0.1, 0.0])]
)


class Greedy(OracleGreedy):
    """The greedy oracle on one bandit, built from a horizon."""

    def __init__(self, horizon):
        super().__init__(BANDIT, seed=1)
        self.horizon = horizon


POLICIES = {
    "FixedCycle": lambda: FixedCycle([0, 1, 2, 1], n_arms=4),
    "OracleGreedy": lambda: OracleGreedy(BANDIT, seed=3),
    "ISICombUCB1": lambda: ISICombUCB1(4, 4, initial=-1),
    "ISICombUCB1 streaks": lambda: ISICombUCB1(4, 3, streaks=True),
    "CombUCB1": lambda: CombUCB1(4, 3, initial=-1),
    "CombUCB1 streaks": lambda: CombUCB1(4, 3, streaks=True, initial=[3, 1, -2, 0]),
    "CalibratedCombUCB1": lambda: CalibratedCombUCB1(4, 2, order=[3, 1, 0, 2]),
    "DoublePlayCombUCB1": lambda: DoublePlayCombUCB1(4, 2, streaks=True),
    "Anytime": lambda: Anytime(partial(ISICombUCB1, 4), first=16),
    "Anytime of random ties": lambda: Anytime(Greedy, first=8),
}


@pytest.mark.parametrize("name", POLICIES)
def test_our_policies_keep_the_contract(name):
    """Legal pulls, true states, masks, late rewards, refusals, determinism, files."""
    check_policy(POLICIES[name], n_arms=4, rounds=60)


class Best(Policy):
    """Plays the arm with the best mean so far: a policy in the fewest lines."""

    shared = ("counts", "sums")

    def __init__(self, n_arms):
        super().__init__(n_arms)
        self.counts, self.sums = [0] * n_arms, [0.0] * n_arms

    def choose(self, track, allowed):
        """Return the allowed arm with the largest optimistic mean."""
        arms = [arm for arm in range(self.n_arms) if allowed is None or allowed[arm]]
        return max(arms, key=lambda arm: (self.sums[arm] + 1) / (self.counts[arm] + 1))

    def learn(self, pull, reward, note):
        """Count it."""
        self.counts[pull.arm] += 1
        self.sums[pull.arm] += reward


def test_a_small_policy_of_one_s_own_passes():
    """Fifteen lines are enough."""
    check_policy(lambda: Best(3), n_arms=3)


class Forgetful(Best):
    """Does not save what it learned."""

    shared = ()


class Unmasked(Best):
    """Ignores masks."""

    def choose(self, track, allowed):
        """Return the best arm, allowed or not."""
        return super().choose(track, None)


class Moody(Best):
    """Draws from a generator that no seed names."""

    def choose(self, track, allowed):
        """Return any allowed arm."""
        return random.choice([a for a in range(self.n_arms) if allowed is None or allowed[a]])


class Deaf(Best):
    """Counts a reward again when it is repeated."""

    def tell(self, id, reward):  # noqa: A002
        """Learn even from what was told before."""
        super().tell(id, reward)
        self.counts[0] += 1


class Lenient(Best):
    """Lets a second reward overwrite the first in silence."""

    def tell(self, id, reward):  # noqa: A002
        """Swallow every complaint."""
        try:
            super().tell(id, reward)
        except ls.LastSwitchError:
            return


class Confused(Best):
    """Reports a state that is not the arm's."""

    def ask(self, subject=None, **options):
        """Return the pull with its state one off."""
        pull = super().ask(subject, **options)
        return pull._replace(tau=pull.tau + 1)


class Hasty(Best):
    """Plays what was only to be proposed."""

    def ask(self, subject=None, *, confirm=True, **options):
        """Confirm everything."""
        return super().ask(subject, **options)


class Sleepless(Best):
    """Does not notice that time goes by."""

    def advance(self, subject=None, rounds=1):
        """Do nothing."""


class Generous(Best):
    """Takes rewards outside its range."""

    def tell(self, id, reward):  # noqa: A002
        """Clip what is too much."""
        low, high = self.rewards
        finite = reward is not None and abs(reward) < 1e300
        super().tell(id, min(high, max(low, reward)) if finite else reward)


class Careless(Best):
    """Keeps in an attribute that is not shared what it chose before."""

    def __init__(self, n_arms):
        super().__init__(n_arms)
        self.turn = 0

    def choose(self, track, allowed):
        """Return one allowed arm after the other."""
        self.turn += 1
        arms = [arm for arm in range(self.n_arms) if allowed is None or allowed[arm]]
        return arms[self.turn % len(arms)]


class Impatient(Best):
    """Refuses to go on while rewards are outstanding."""

    def choose(self, track, allowed):
        """Complain once ten rewards are missing."""
        if len(self.outstanding) > 10:
            raise RuntimeError("tell me first")
        return super().choose(track, allowed)


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (Forgetful, AssertionError),
        (Unmasked, ls.errors.PolicyError),
        (Moody, AssertionError),
        (Deaf, AssertionError),
        (Lenient, AssertionError),
        (Confused, AssertionError),
        (Impatient, RuntimeError),
        (Hasty, AssertionError),
        (Sleepless, AssertionError),
        (Generous, AssertionError),
        (Careless, AssertionError),
    ],
)
def test_the_checker_catches_a_broken_policy(broken, error):
    """A policy that breaks one promise does not pass."""
    with pytest.raises(error):
        check_policy(lambda: broken(3), n_arms=3)


def test_the_checker_counts_the_arms():
    """A factory with another number of arms is named."""
    with pytest.raises(AssertionError, match="3 arms, not 4"):
        check_policy(lambda: Best(3), n_arms=4)


@pytest.mark.parametrize("name", ["ISICombUCB1", "CombUCB1 streaks", "OracleGreedy", "Anytime"])
def test_saving_at_any_moment_changes_nothing(name, tmp_path):
    """A policy that is saved and loaded between any two calls asks as one that never is."""
    steady = POLICIES[name]()
    interrupted = POLICIES[name]()
    rng, waiting = random.Random(7), []
    for turn in range(30):
        subject = ("ann", "bob")[turn % 3 == 0]
        pull = steady.ask(subject)
        interrupted = load_policy(interrupted.save(tmp_path / "policy.json"))
        twin = interrupted.ask(subject)
        assert twin[1:] == pull[1:]
        waiting.append((pull, twin))
        if rng.random() < 0.6:
            told, reward = waiting.pop(rng.randrange(len(waiting))), float(rng.random() < 0.5)
            steady.tell(told[0].id, reward)
            interrupted = load_policy(interrupted.save(tmp_path / "policy.json"))
            interrupted.tell(told[1].id, reward)
    assert interrupted.learned() == steady.learned()


@pytest.mark.parametrize("name", ["FixedCycle", "ISICombUCB1", "Anytime"])
def test_a_range_of_one_s_own_keeps_the_contract(name):
    """Rewards between -3 and 5 are told, learned and refused as those between 0 and 1 are."""
    own = {
        "FixedCycle": lambda: FixedCycle([0, 1, 2, 3]),
        "ISICombUCB1": lambda: ISICombUCB1(4, 4, rewards=(-3, 5)),
        "Anytime": lambda: Anytime(partial(ISICombUCB1, 4, rewards=(-3, 5)), first=16),
    }
    check_policy(own[name], n_arms=4, rounds=40)
