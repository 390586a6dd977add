"""RotationUCB under rules: none is broken, and what they leave is earned."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import rules as r
from lastswitch._random import stream
from lastswitch.errors import InfeasibleError, PolicyError, RuleError
from lastswitch.learning import RotationUCB
from lastswitch.rules import violations

BANDIT = ls.Bandit([ls.curves.step(2, 0.9, 0.1), ls.curves.constant(0.5), ls.curves.constant(0.2)])
RULES = [r.apart(0, 4), r.at_most(1, 2, within=4), r.at_least(2, 1, every=6)]
SMALL = {"depth": 6, "max_depth": 8, "lookahead": 8}


def played(policy, rounds, seed=0, subject=None):
    """Return the arms of so many rounds, and the mean earned."""
    rng, arms, earned = stream(seed, "test"), [], 0.0
    for _ in range(rounds):
        pull = policy.ask(subject)
        arms.append((pull.arm,))
        earned += BANDIT.mean(pull.arm, pull.tau)
        policy.tell(pull.id, BANDIT.sample(pull.arm, pull.tau, rng))
    return arms, earned / rounds


def test_hard_rules_are_kept_while_learning_and_not_without_them():
    """No rule is broken in 250 rounds, all are by a learner that is not told of them."""
    arms, _ = played(RotationUCB(3, rules=RULES, **SMALL), 250)
    assert [violations(rule, arms) for rule in RULES] == [[], [], []]
    arms, _ = played(RotationUCB(3, **SMALL), 250)
    assert all(violations(rule, arms) for rule in RULES)


def test_what_the_rules_leave_is_earned():
    """After the first rounds at least nine tenths of the ruled optimum."""
    policy = RotationUCB(3, rules=RULES, **SMALL)
    played(policy, 200)
    best = ls.optimal_average(ls.Bandit(BANDIT.curves, rules=RULES)).value
    assert played(policy, 200, seed=1)[1] > 0.9 * best


choice = st.sampled_from
some_rules = st.lists(
    st.one_of(
        st.builds(r.apart, choice([0, 1]), choice([2, 3])),
        st.builds(r.at_most, choice([0, 1, [0, 1]]), choice([1, 2]), within=choice([3, 5])),
        st.builds(r.at_least, choice([0, 1, 2]), st.just(1), every=choice([4, 7])),
        st.builds(r.never_after, choice([0, 1]), choice([0, 1])),
        st.builds(r.never, choice([0, 1]), st.lists(st.integers(0, 30), min_size=1, max_size=3)),
        st.builds(r.pinned, choice([0, 1, 2]), st.integers(4, 30)),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=8, deadline=None)
@given(some_rules, st.integers(0, 3))
def test_no_rule_is_broken_whatever_the_rules(tmp_path_factory, rules, seed):
    """Until they contradict each other, with proposals, several subjects and files in between."""
    policy = RotationUCB(3, rules=rules, commitment=2, **SMALL)
    rng, arms = stream(seed, "test"), {"ann": [], "bob": []}
    with suppress(InfeasibleError):
        for k in range(40):
            subject = ("ann", "bob")[int(rng.integers(2))]
            if rng.random() < 0.2:
                policy.cancel(policy.ask(subject, confirm=False).id)
            pull = policy.ask(subject)
            arms[subject].append((pull.arm,))
            policy.tell(pull.id, BANDIT.sample(pull.arm, pull.tau, rng))
            if k == 20:
                file = tmp_path_factory.mktemp("ruled") / "policy.json"
                policy = ls.load_policy(policy.save(file))
    for rule in rules:
        bound = rule.bound(("arm 0", "arm 1", "arm 2"), {})
        for rounds in arms.values():
            assert not rounds or not violations(bound, rounds)


def test_a_resumed_policy_goes_on_under_its_rules(tmp_path):
    """Files keep the rules and the latest plays: the next pulls are the same."""
    policy = RotationUCB(3, rules=RULES, **SMALL)
    played(policy, 30, subject="ann")
    again = ls.load_policy(policy.save(tmp_path / "policy.json"))
    assert again.rules == policy.rules
    assert [again.ask("ann")[1:] for _ in range(20)] == [policy.ask("ann")[1:] for _ in range(20)]


def test_rules_that_contradict_each_other_are_named():
    """Three arms that are each to rest for four rounds leave a fourth round nobody."""
    policy = RotationUCB(3, rules=[r.rest([0, 1, 2], 4)], **SMALL)
    with pytest.raises(InfeasibleError, match="rest"):
        policy.ask()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rules": [r.at_most(0, 3)]}, RuleError, "has no end"),
        ({"rules": [r.never(0, when="saturdays")]}, RuleError, "calendar"),
        ({"rules": RULES, "pooling": "none"}, PolicyError, 'pooling="all" only'),
    ],
)
def test_rules_a_learner_cannot_keep_are_refused(arguments, error, message):
    """The message says what to give instead."""
    with pytest.raises(error, match=message):
        RotationUCB(3, **arguments)
