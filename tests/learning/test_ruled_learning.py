"""Learning under rules: none is ever broken, silence is known, and the optimum is approached."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch import rules as r
from lastswitch._utils.random import stream
from lastswitch.errors import InfeasibleError, PolicyError, RuleError, UndecidedError
from lastswitch.learning import RuledRotationUCB
from lastswitch.learning.rotation.lookahead import Moves, Outlook
from lastswitch.learning.rotation.rounds import look_ahead_rounds_reference, plan_rounds
from lastswitch.rules import violations
from lastswitch.rules.automata.endless import Endless, shifted
from lastswitch.testing import check_policy


def random_who(rng, n_arms):
    """Return an arm, some arms, or everyone."""
    if rng.random() < 0.3:
        return "everyone"
    size = int(rng.integers(1, n_arms + 1))
    return sorted(rng.choice(n_arms, size, replace=False).tolist())


def random_rule(rng, n_arms):
    """Return a rule about rounds as they come, or about certain ones; most of them hard."""
    who, kind = random_who(rng, n_arms), rng.integers(8)
    cost = float(rng.uniform(0.05, 0.5)) if rng.random() < 0.15 else None
    window = {str(rng.choice(["within", "every"])): int(rng.integers(2, 8))}
    if kind == 0:
        return r.apart(who, int(rng.integers(2, 4)), cost=cost)
    if kind == 1:
        return r.rest(who, int(rng.integers(1, 3)), cost=cost)
    if kind == 2:
        return r.never_after(who, random_who(rng, n_arms), cost=cost)
    if kind == 3:
        return r.pinned(who, int(rng.integers(0, 12)), cost=cost)
    if kind == 4:
        return r.never(who, sorted({*rng.integers(0, 15, 4).tolist()}), cost=cost)
    if kind in (5, 6):
        return r.at_least(who, int(rng.integers(1, 3)), cost=cost, **window)
    return r.at_most(who, int(rng.integers(1, 4)), cost=cost, **window)


def random_ruled_bandit(rng):
    """Return a small bandit with one to five rules, in rounds of none to three plays."""
    n_arms = int(rng.integers(2, 6))
    curves = []
    for _ in range(n_arms):
        depth = int(rng.integers(1, 5))
        curves.append(ls.Curve(rng.random(depth), np.sort(rng.random(2))[::-1]))
    least = int(rng.integers(0, 2))
    most = int(rng.integers(max(least, 1), min(3, n_arms) + 1))
    return ls.Bandit(
        curves,
        rules=[random_rule(rng, n_arms) for _ in range(rng.integers(1, 6))],
        plays=(least, most),
        silence=float(rng.uniform(-0.2, 0.5)),
    )


def kept(seed, horizon):
    """Simulate a random bandit, which refuses broken hard rules; False if none can be kept."""
    rng = stream(seed, "tests/learning under rules")
    bandit = random_ruled_bandit(rng)
    subjects = int(rng.integers(1, 4))
    try:
        policy = ls.RotationUCB.for_bandit(bandit, seed=seed, lookahead=6, width=6, commitment=2)
    except (InfeasibleError, RuleError, UndecidedError):
        return False
    ls.simulate(bandit, policy, horizon, seed, subjects=subjects)
    return True


def test_hard_rules_are_never_broken_while_learning():
    """Over random rules, plays, subjects and curves; and many of them can be kept."""
    done = [kept(seed, 80) for seed in range(24)]
    assert sum(done) > 10


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_endless_rules_are_broken_where_the_evaluator_says(seed):
    """Whatever is played from whatever round on, hard and soft, with and without a past."""
    rng = stream(seed, "tests/endless")
    n_arms, most = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    plays = (0, min(most, n_arms))
    began = int(rng.integers(0, 9))
    rule = random_rule(rng, n_arms)
    bound = rule.bound([f"arm {i}" for i in range(n_arms)], {})
    choices = Endless((), n_arms, plays).choices
    past = [choices[i] for i in rng.integers(len(choices), size=rng.integers(0, 4))]
    rounds = [choices[i] for i in rng.integers(len(choices), size=30)]
    try:
        endless = Endless([bound], n_arms, plays, began=began, history=past)
    except (InfeasibleError, UndecidedError):
        return
    found, memory = [], endless.start
    for arms in rounds:
        memory, hard, cost = endless.step(memory, endless.number[arms])
        found.append(hard if rule.hard else round(cost / rule.cost))
    amounts = dict.fromkeys(range(30), 0) | dict(violations(shifted(bound, began), rounds, past))
    # What a block leaves unfinished is no violation of it, and rounds beyond it would tell.
    assert found == [amounts[t] for t in range(30)]


@pytest.mark.parametrize("seed", range(12))
def test_safe_plays_are_those_from_which_rules_can_be_kept(seed):
    """Against all ways to play on for as many rounds as the rules remember, and some more."""
    rng = stream(seed, "tests/safe")
    n_arms = int(rng.integers(2, 4))
    windows = [
        r.at_least(0, 1, within=int(rng.integers(2, 5))),
        r.at_most([0, 1], int(rng.integers(1, 3)), within=3),
        r.apart("everyone" if n_arms > 2 and rng.random() < 0.2 else 1, 2),
        r.at_least(1, 1, every=int(rng.integers(2, 5))),
    ]
    names = [f"arm {i}" for i in range(n_arms)]
    rules = [rule.bound(names, {}) for rule in windows if rng.random() < 0.8]
    try:
        endless = Endless(rules, n_arms, (1, 1))
    except InfeasibleError:
        assert not can_go_on(rules, n_arms, [], 9)
        return
    memory, played = endless.start, []
    for _ in range(6):
        safe = [a for a in range(n_arms) if endless.safe(memory, endless.number[(a,)])]
        assert safe
        assert safe == [a for a in range(n_arms) if can_go_on(rules, n_arms, [*played, (a,)], 9)]
        arm = safe[int(rng.integers(len(safe)))]
        memory = endless.step(memory, endless.number[(arm,)])[0]
        played.append((arm,))


def can_go_on(rules, n_arms, played, rounds):
    """Tell, by trying, whether the rounds played can be followed by so many more."""
    if any(violations(rule, played) for rule in rules if played):
        return False
    ways = ((*played, (arm,)) for arm in range(n_arms))
    return rounds == 0 or any(can_go_on(rules, n_arms, [*way], rounds - 1) for way in ways)


@pytest.mark.parametrize("seed", range(8))
def test_the_beam_over_rounds_is_exact_when_wide(seed):
    """Its plan is worth what trying every way finds, and breaks no hard rule."""
    rng = stream(seed, "tests/rounds")
    n_arms, streaks, rounds = 3, 2, 4
    depths = rng.integers(1, 4, n_arms)
    values, worth = rng.random((2, n_arms, streaks + 3))
    start = np.array([rng.integers(0, streaks + d) for d in depths])
    rules = [r.at_most("everyone", 2, within=2, cost=0.3), r.apart(0, 3), r.never_after(1, [1, 2])]
    policy = RuledRotationUCB(n_arms, rules=rules, plays=(0, 2), silence=float(rng.random() / 2))
    endless, choices = policy.learner.rules.met(0)
    moves = Moves.of(streaks, depths, values.shape[1])
    outlook, free = Outlook.of(moves, values, worth), np.ones(len(endless.choices), bool)
    memory = np.array(endless.start)
    plan = plan_rounds(moves, outlook, choices, start, memory, free, 5000, rounds)
    assert plan.size == rounds
    common = (values, worth, streaks, depths.tolist(), start.tolist(), endless.choices)
    common += (choices.empty.tolist(),)
    best = look_ahead_rounds_reference(*common, endless.step, endless.start, rounds)
    own = look_ahead_rounds_reference(*common, _only(plan, endless.step), endless.start, rounds)
    assert own == pytest.approx(best)


def _only(plan, step):
    """Return a step that forbids all but one way; its memory begins with the round."""

    def stepped(memory, choice):
        t, held = memory if isinstance(memory[-1], tuple) else (0, memory)
        after, hard, cost = step(held, choice)
        return (t + 1, after), hard + int(choice != plan[t]), cost

    return stepped


@pytest.mark.parametrize(
    ("options", "n_arms"),
    [
        ({"rules": [r.rest("everyone", 1), r.at_least(2, 1, within=4)]}, 4),
        ({"plays": (0, 1), "silence": 0.4, "rules": [r.at_most("everyone", 2, every=4)]}, 3),
        ({"plays": 2, "rules": [r.never_after(0, 1), r.apart(2, 2, cost=0.1)]}, 4),
        ({"plays": (0, 2), "silence": 0.2}, 3),
    ],
    ids=["one play", "silence", "two plays", "plays"],
)
def test_learners_under_rules_keep_the_contract(options, n_arms):
    """Proposals, late news, files, subjects; and the rules."""
    small = {"lookahead": 6, "width": 4, "commitment": 3}
    check_policy(lambda: RuledRotationUCB(n_arms, **options, **small), n_arms=n_arms, rounds=60)


def test_the_contract_s_check_notices_a_broken_rule():
    """A learner that forgets its rules is caught by name."""

    class Forgetful(RuledRotationUCB):
        def choose_round(self, track, allowed):
            """Play the first arm, whatever the rules say."""
            return (0,)

        def choose(self, track, allowed):
            """Play it, and count it."""
            self.playing(track, (0,))
            return 0

    factory = lambda: Forgetful(3, rules=[r.rest(0, 2)])  # noqa: E731
    with pytest.raises(AssertionError, match=r"the rule arm 0.* is broken"):
        check_policy(factory, n_arms=3, rounds=60)


def test_silence_is_known_and_kept_when_nothing_pays_more():
    """Arms that pay less than silence are tried a little, and then left alone."""
    bandit = ls.Bandit([ls.curves.constant(0.1)] * 2, plays=(0, 1), silence=0.6)
    run = ls.simulate(bandit, ls.RotationUCB.for_bandit(bandit), 2000, seed=0)
    assert sum(len(arms) for arms in run.rounds) < 60
    assert ls.simulate(bandit, ls.RotationUCB.for_bandit(bandit), 5, seed=0).sizes.sum() >= 1


def test_silence_and_costs_are_on_the_scale_of_rewards():
    """Rewards of 0 to 100 and a silence of 60 are rewards of 0 to 1 and a silence of 0.6."""
    rules = [r.apart(0, 2)]
    soft = [r.apart(0, 2, cost=0.3)], [r.apart(0, 2, cost=30.0)]
    for small, large in ((rules, rules), soft):
        one = RuledRotationUCB(2, rules=small, plays=(0, 1), silence=0.6)
        two = RuledRotationUCB(2, rules=large, plays=(0, 1), silence=60.0, rewards=(0, 100))
        for t in range(80):
            mine, other = one.ask_round(), two.ask_round()
            assert [pull[1:] for pull in mine] == [pull[1:] for pull in other]
            for pull, twin in zip(mine, other, strict=True):
                paid = float((t * 7) % 3 == 0)
                one.tell(pull.id, paid)
                two.tell(twin.id, 100.0 * paid)


def test_rules_that_cannot_be_kept_or_end_nowhere_are_refused_at_once():
    """Before a single ask, with what to do."""
    with pytest.raises(InfeasibleError, match="drop or loosen"):
        RuledRotationUCB(2, rules=[r.rest("everyone", 3)])
    with pytest.raises(RuleError, match="give within= or every="):
        RuledRotationUCB(2, rules=[r.at_most(0, 3)])
    RuledRotationUCB(3, rules=[r.rest("everyone", 3)])


def test_a_mask_that_leaves_no_way_is_refused_and_changes_nothing():
    """Arm 0 must come now, and is not allowed."""
    policy = RuledRotationUCB(2, rules=[r.pinned(0, 3)], plays=(0, 1))
    for _ in range(3):
        policy.ask_round("ann")
    before = policy.track("ann").to_row()
    with pytest.raises(PolicyError, match="leaves no play from which all hard rules can be kept"):
        policy.ask_round("ann", allowed=[1])
    assert policy.track("ann").to_row() == before
    assert [pull.arm for pull in policy.ask_round("ann")] == [0]


def test_rounds_that_go_by_are_heard_by_the_rules():
    """A rest is over after them, and what they broke is not held against what follows."""
    policy = RuledRotationUCB(1, rules=[r.rest(0, 3)], plays=(0, 1))
    first = policy.ask_round("ann", at=5)
    assert [pull.arm for pull in first] == [0]
    assert policy.ask_round("ann", allowed=[0]) == ()
    policy.advance("ann", 2)
    assert len(policy.ask_round("ann")) == 1
    policy = RuledRotationUCB(2, rules=[r.at_least(0, 2, within=3)])
    policy.ask()
    policy.advance(None, 1000)
    pulls = [policy.ask().arm for _ in range(12)]
    assert not violations(r.at_least(0, 2, within=3), [(arm,) for arm in pulls])


def test_a_history_is_where_rules_and_states_begin():
    """An arm that has just been played must rest, and is known to be in a streak."""
    policy = RuledRotationUCB(2, rules=[r.rest(0, 3)], history=[1, 0, 0])
    assert policy.track().state() == [-2, 2]
    assert [policy.ask().arm for _ in range(2)] == [1, 1]
    assert RuledRotationUCB(**policy.parameters()).track().state() == [-2, 2]


def test_periods_are_the_same_for_a_subject_who_comes_later():
    """A week's third day is the third day for everybody."""
    policy = RuledRotationUCB(2, rules=[r.at_most("everyone", 1, every=7)], plays=(0, 1))
    for subject, at in (("ann", 0), ("bob", 5), ("cid", 20)):
        weeks = {}
        for t in range(at, at + 30):
            for _ in policy.ask_round(subject, at=t):
                weeks[t // 7] = weeks.get(t // 7, 0) + 1
        assert max(weeks.values()) == 1
        assert len(weeks) >= 4


def test_the_ruled_optimum_is_approached():
    """Silence, a cap and rests: most of the optimum within a few thousand rounds."""
    bandit = ls.Bandit(
        [ls.curves.step(2, 0.9), ls.curves.step(3, 0.8), ls.curves.constant(0.3)],
        plays=(0, 1),
        silence=0.35,
        rules=[r.at_most("everyone", 3, within=5)],
    )
    best = ls.optimal_average(bandit).value
    run = ls.simulate(bandit, ls.RotationUCB.for_bandit(bandit), 4000, seed=0)
    assert run.mean_total > 0.93 * 4000 * best
    assert run.expected[-1000:].mean() > 0.95 * best


def test_plays_after_which_no_rule_can_be_kept_do_not_crowd_out_the_others():
    """Arms after which nothing may come, where something must: only two are worth planning for."""
    bandit = ls.Bandit(
        [ls.curves.step(2, 0.9), ls.curves.constant(0.1), *[ls.curves.constant(0.8)] * 5],
        plays=(1, 3),
        rules=[r.never_after("everyone", [2, 3, 4, 5, 6])],
    )
    best = ls.optimal_average(bandit).value
    run = ls.simulate(bandit, ls.RotationUCB.for_bandit(bandit), 1000, seed=0)
    assert run.expected[-300:].mean() > 0.95 * best
