"""Random sequences of everything a policy can be told, against a small model of states and counts.

``LASTSWITCH_FUZZ=N`` plays N sequences of each kind of policy in place of a few.
"""

import json
import os
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import lastswitch as ls
from lastswitch import rules as r
from lastswitch.errors import LastSwitchError
from lastswitch.learning import (
    UCB1,
    FixedCycle,
    FrequencyPolicy,
    ISICombUCB1,
    OracleGreedy,
    RotationUCB,
    load_policy,
)
from lastswitch.learning.saving import encode

SEQUENCES = int(os.environ.get("LASTSWITCH_FUZZ", "3"))
LENGTH = 60
SUBJECTS = [None, "ann", "bob", "dora", 7]
CURVES = [ls.curves.step(2, 0.9), ls.curves.step(3, 0.6), ls.curves.constant(0.3)]
BANDIT = ls.Bandit(CURVES)
SMALL = {"depth": 4, "max_depth": 6, "streak_depth": 2, "lookahead": 5, "width": 4}
RULES = [r.apart(0, 2), r.at_most(1, 2, within=5)]
RULED = ls.Bandit(CURVES, rules=RULES, plays=(0, 2), silence=0.1)
ONE_A_ROUND = ls.Bandit(CURVES, rules=RULES[:1])
POLICIES = {
    "FixedCycle": lambda: FixedCycle([0, 1, 1, 2], initial=-1),
    "FixedCycle, rounds": lambda: FixedCycle([(0, 1), (), (2,)]),
    "UCB1": lambda: UCB1(3, initial=[4, -2, 1]),
    "OracleGreedy": lambda: OracleGreedy(BANDIT),
    "ISICombUCB1": lambda: ISICombUCB1(3, 3),
    "FrequencyPolicy": lambda: FrequencyPolicy(BANDIT, depth=4),
    "RotationUCB": lambda: RotationUCB(3, **SMALL),
    "RotationUCB, Thompson": lambda: RotationUCB(3, index="thompson", **SMALL),
    "RotationUCB, partial": lambda: RotationUCB(3, pooling="partial", **SMALL),
    "RotationUCB, rules": lambda: RotationUCB.for_bandit(ONE_A_ROUND, **SMALL),
    "RotationUCB, rounds": lambda: RotationUCB.for_bandit(RULED, **SMALL),
}


class Model:
    """What must be true of a policy, from the definition of states: no library code."""

    def __init__(self, policy):
        self.start = [int(tau) for tau in policy._start]
        self.states, self.clocks = {}, {}
        self.proposed = {}  # by subject: the round, and the pulls
        self.pulls, self.told = {}, {}

    def enrol(self, subject, at):
        """Add somebody."""
        self.states[subject], self.clocks[subject] = list(self.start), at

    def round_of(self, subject):
        """Return somebody's next round."""
        return self.clocks.get(subject, 0)

    def rest(self, subject, rounds):
        """Let rounds go by without a play."""
        for _ in range(min(rounds, 1)):  # a streak ends with the first round of rest
            self.states[subject] = [tau + 1 if tau > 0 else 1 for tau in self.states[subject]]
        self.states[subject] = [tau + max(rounds - 1, 0) for tau in self.states[subject]]
        self.clocks[subject] += rounds

    def seen_from(self, subject, at):
        """Return the states the subject would be in, in round ``at``."""
        trial = Model.__new__(Model)
        trial.start = self.start
        trial.states, trial.clocks = dict(self.states), dict(self.clocks)
        if subject not in trial.states:
            trial.enrol(subject, at)
        trial.rest(subject, at - trial.clocks[subject])
        return trial.states[subject]

    def play(self, subject, at, pulls):
        """Play a round, whose pulls must be in the states that are known."""
        if subject not in self.states:
            self.enrol(subject, at)
        self.rest(subject, at - self.clocks[subject])
        arms, states = {pull.arm for pull in pulls}, self.states[subject]
        assert [pull.tau for pull in pulls] == [states[pull.arm] for pull in pulls]
        self.states[subject] = [
            (-1 if tau > 0 else tau - 1) if arm in arms else (tau + 1 if tau > 0 else 1)
            for arm, tau in enumerate(states)
        ]
        self.clocks[subject] += 1
        self.proposed.pop(subject, None)
        for pull in pulls:
            assert pull.id not in self.pulls
            self.pulls[pull.id] = pull

    def check(self, policy):
        """Check that the policy is where this is."""
        assert set(policy.subjects) == set(self.states)
        for subject, states in self.states.items():
            track = policy.track(subject)
            assert (track.state(), track.now) == (states, self.clocks[subject])
        standing = [pull for _, pulls in self.proposed.values() for pull in pulls]
        assert Counter(policy.proposed) == Counter(standing)
        waiting = [pull for name, pull in self.pulls.items() if name not in self.told]
        assert Counter(policy.outstanding) == Counter(waiting)
        assert policy.n_asked == len(self.pulls)
        if isinstance(policy, RotationUCB):
            self.check_books(policy)

    def check_books(self, policy):
        """Check the counts, the sums and the plays whose reward is out, cell by cell."""
        counts, sums, out = np.zeros((3, *policy.counts.shape))
        for name, (_, arm, tau, _) in self.pulls.items():
            cell = 15 + min(tau, policy.max_depth) if tau > 0 else min(max(-tau, 1), 16) - 1
            reward = self.told.get(name, 0.0)
            if name not in self.told:
                out[arm, cell] += 1
            elif reward is not None:
                counts[arm, cell] += 1
                sums[arm, cell] += reward
        assert np.array_equal(policy.counts, counts)
        assert np.array_equal(policy.pending, out)
        assert np.allclose(policy.sums, sums)


def state_of(policy):
    """Return all that a policy is, as text."""
    return json.dumps(encode(policy.snapshot()))


def refused(policy, call):
    """Make a call that must be refused by name, and must change nothing."""
    before = state_of(policy)
    with pytest.raises(LastSwitchError):
        call()
    assert state_of(policy) == before


def asked(rng, policy, model):
    """Ask for somebody's round: as it comes, later, masked, proposed, or in ways that are wrong."""
    subject, options = rng.choice(SUBJECTS), {"confirm": rng.random() < 0.6}
    standing = model.proposed.get(subject)
    now = model.round_of(subject)
    if rng.random() < 0.3:
        options["at"] = now + rng.choice([0, 1, 3, 10**6])
    if rng.random() < 0.3:
        options["allowed"] = rng.sample(range(policy.n_arms), rng.randint(1, policy.n_arms))
    at = options.get("at", standing[0] if standing else now)
    before = state_of(policy)
    try:
        pulls = policy.ask_round(subject, **options)
    except LastSwitchError:  # a mask may leave no way to keep a rule
        assert getattr(policy, "rules", ())
        assert "allowed" in options
        assert state_of(policy) == before
        return
    fits = (
        standing is not None
        and at == standing[0]
        and all(pull.arm in options.get("allowed", [pull.arm]) for pull in standing[1])
    )
    assert (standing is not None and pulls == standing[1]) == fits or not pulls
    if options["confirm"]:
        model.play(subject, at, pulls)
    else:
        states = model.seen_from(subject, at)
        assert [pull.tau for pull in pulls] == [states[pull.arm] for pull in pulls]
        model.proposed[subject] = (at, pulls)


def asked_wrongly(rng, policy, model):
    """Ask in a way that must be refused."""
    subject, confirm = rng.choice(SUBJECTS), rng.random() < 0.5
    wrong = [
        {"allowed": [policy.n_arms]},
        {"allowed": [True] * (policy.n_arms + 1)},
        {"allowed": ["0"]},
        {"at": -1},
        {"at": 2**60},
        {"at": "now"},
        {"at": model.round_of(subject) + 2, "allowed": [-1]},
    ]
    if model.round_of(subject) > 0 and subject in model.clocks:
        wrong.append({"at": model.round_of(subject) - 1})
    options = rng.choice(wrong)
    refused(policy, lambda: policy.ask_round(subject, **options, confirm=confirm))
    refused(policy, lambda: policy.ask_round(rng.choice([("a",), 1.5, "\ud800"]), confirm=confirm))


def settled(rng, policy, model):
    """Confirm or cancel what is proposed to somebody."""
    names = [(s, at, pulls) for s, (at, pulls) in model.proposed.items() if pulls]
    if not names:
        return
    subject, at, pulls = rng.choice(names)
    name = rng.choice(pulls).id
    if rng.random() < 0.5:
        policy.confirm(name)
        model.play(subject, at, pulls)
    else:
        policy.cancel(name)
        del model.proposed[subject]
        refused(policy, lambda: policy.confirm(name))


def told(rng, policy, model):
    """Tell the reward of some pull, again or otherwise."""
    if not model.pulls:
        return
    name = rng.choice(list(model.pulls))
    reward = rng.choice([0.0, 0.5, 1.0, None])
    if name not in model.told:
        policy.tell(name, reward)
        model.told[name] = reward
    elif model.told[name] == reward:
        policy.tell(name, reward)
    else:
        refused(policy, lambda: policy.tell(name, reward))


def looked(rng, policy, model):
    """Look at somebody, let rounds go by, or enrol somebody new."""
    subject, how = rng.choice(SUBJECTS), rng.choice(["track", "advance", "enrol", "enrol at"])
    new, standing = subject not in model.states, model.proposed.get(subject)
    began = standing[0] if standing and new else 0
    if how.startswith("enrol") and not new:
        refused(policy, lambda: policy.enrol(subject))
        return
    if how == "enrol at":
        at = rng.choice([0, 4])
        policy.enrol(subject, at=at)
        if standing and at != began:
            del model.proposed[subject]
        model.enrol(subject, at)
        return
    rounds = rng.choice([0, 1, 5]) if how == "advance" else 0
    {"track": policy.track, "enrol": policy.enrol}.get(
        how, lambda who: policy.advance(who, rounds)
    )(subject)
    if new:
        model.enrol(subject, began)
    if rounds:
        model.rest(subject, rounds)
        model.proposed.pop(subject, None)


def saved(policy):
    """Return the policy as a file gives it back."""
    with tempfile.TemporaryDirectory() as folder:
        again = load_policy(policy.save(Path(folder) / "policy.json"))
    assert state_of(again) == state_of(policy)
    return again


@pytest.mark.parametrize("name", POLICIES)
def test_states_counts_and_proposals_are_right_whatever_is_asked(name):
    """After every operation the policy is where the model is; refusals change nothing."""
    for seed in range(SEQUENCES):
        rng, policy = random.Random(f"{name} {seed}"), POLICIES[name]()
        model = Model(policy)
        for _ in range(LENGTH):
            drawn = rng.random()
            if drawn < 0.05:
                policy = saved(policy)
            elif drawn < 0.15:
                asked_wrongly(rng, policy, model)
            else:
                rng.choice([asked, asked, settled, told, looked])(rng, policy, model)
            model.check(policy)
        model.check(saved(policy))
