"""RotationUCB: what it promises, and what it earns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch._utils.random import stream
from lastswitch.errors import InputTypeError, PolicyError
from lastswitch.learning import Prior, RotationUCB, RuledRotationUCB
from lastswitch.learning.rotation.books import STREAKS
from lastswitch.model.instances import five_arms, two_arms
from lastswitch.testing import check_policy


@pytest.mark.parametrize(
    "index", ["reservation", "kl-ucb", "ucb1", "empirical-bernstein", "thompson"]
)
def test_every_index_keeps_the_contract(index):
    """Legal pulls, true states, masks, late rewards, refusals, determinism, files."""
    check_policy(lambda: RotationUCB(3, index=index, seed=5), n_arms=3, rounds=60)


@pytest.mark.parametrize("kept", [{"memory": 30}, {"pooling": "none"}, {"pooling": "partial"}])
def test_every_way_of_keeping_rewards_keeps_the_contract(kept):
    """The same with fading rewards, and with subjects that differ."""
    check_policy(lambda: RotationUCB(3, **kept), n_arms=3, rounds=60)


def test_the_smallest_tables_keep_the_contract():
    """One streak cell, one rest cell, one round ahead."""
    small = {"depth": 1, "max_depth": 2, "streak_depth": 1, "lookahead": 1, "commitment": 1}
    check_policy(lambda: RotationUCB(2, initial=[-3, 4], **small), n_arms=2, rounds=60)


def test_it_earns_nearly_the_optimum_on_the_five_arms():
    """At least 98 % of the optimum's total, where the paper's learner earns 60 %."""
    best = ls.optimal_total(five_arms(), 5112).value
    runs = [
        ls.simulate(five_arms(), RotationUCB(5, initial=-1), 5112, seed).mean_total
        for seed in range(3)
    ]
    assert np.mean(runs) >= 0.98 * best


def test_it_earns_nearly_the_optimum_on_the_two_arms():
    """At least 99 % of the optimum's total."""
    best = ls.optimal_total(two_arms(), 5060).value
    run = ls.simulate(two_arms(), RotationUCB(2, initial=-1), 5060, 0)
    assert run.mean_total >= 0.99 * best


def test_structure_deeper_than_the_table_is_found():
    """A step far beyond the first table makes the table deepen, and is earned."""
    bandit = ls.Bandit([ls.curves.step(20, 1.0), ls.curves.constant(0.05)])
    policy = RotationUCB(2, depth=8)
    run = ls.simulate(bandit, policy, 6000, 0)
    assert policy.learner.tables.depths[0] > 8
    assert run.means[-1000:].sum() > 0.85 * 1000 * ls.optimal_average(bandit).value


def test_fifty_subjects_share_what_they_learn():
    """Fifty subjects of 200 rounds earn at least 95 % of fifty optima on the five arms."""
    best = 50 * ls.optimal_total(five_arms(), 200).value
    run = ls.simulate(five_arms(), RotationUCB(5, initial=-1), 200, 0, subjects=50)
    assert run.mean_total >= 0.95 * best


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_estimates_equal_a_recount_of_the_history(data):
    """However late, missing or repeated the rewards, counts and sums are those of the history."""
    policy = RotationUCB(3, initial=data.draw(st.sampled_from([1, -1, 7])))
    counts, sums = np.zeros((3, STREAKS + 64)), np.zeros((3, STREAKS + 64))
    open_pulls = []
    for _ in range(40):
        open_pulls.append(policy.ask(data.draw(st.sampled_from(["ann", "bob"]))))
        while open_pulls and data.draw(st.booleans()):
            pull = open_pulls.pop(data.draw(st.integers(0, len(open_pulls) - 1)))
            reward = data.draw(st.sampled_from([None, 0.0, 1.0, 0.25]))
            policy.tell(pull.id, reward)
            if reward is not None:
                state = STREAKS + min(pull.tau, 64) - 1 if pull.tau > 0 else -pull.tau - 1
                counts[pull.arm, min(state, STREAKS - 1) if pull.tau < 0 else state] += 1
                sums[pull.arm, min(state, STREAKS - 1) if pull.tau < 0 else state] += reward
    assert (policy.learner.books.counts == counts).all()
    assert policy.learner.books.sums == pytest.approx(sums)
    assert policy.learner.books.pending.sum() == len(open_pulls)


@pytest.mark.parametrize(
    "kept",
    [
        {},
        {"index": "kl-ucb"},
        {"index": "thompson"},
        {"memory": 100},
        {"pooling": "none"},
        {"pooling": "partial"},
    ],
    ids=str,
)
def test_a_resumed_policy_makes_the_same_plans(tmp_path, kept):
    """Saving in the middle of a block changes no later pull and no number."""
    bandit = five_arms()
    policies = [RotationUCB(5, initial=-1, seed=3, **kept) for _ in range(2)]
    noises = [stream(0, "test") for _ in range(2)]
    for step in range(300):
        if step in (57, 150, 151):
            policies[1] = ls.load_policy(policies[1].save(tmp_path / "policy.json"))
        pulls = [policy.ask() for policy in policies]
        assert pulls[0][1:] == pulls[1][1:]
        for policy, pull, noise in zip(policies, pulls, noises, strict=True):
            policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, noise))
    for name, learned in policies[0].learned().items():
        assert np.array_equal(learned, policies[1].learned()[name]), name


@pytest.mark.parametrize(
    ("kept", "subjects", "seed"),
    [({"pooling": "none"}, 1, 0), ({"pooling": "partial"}, 5, 0), ({"memory": 200}, 2, 1)],
    ids=str,
)
def test_saving_often_changes_nothing_however_beliefs_move(tmp_path, kept, subjects, seed):
    """Tables nearly as they were, and cycles that could be searched for again, are no matter."""
    three = ls.Bandit([ls.curves.step(2, 0.9), ls.curves.constant(0.3), ls.curves.step(4, 0.8)])
    bandit = five_arms() if seed else three
    policies = [RotationUCB(bandit.n_arms, **kept) for _ in range(2)]
    noises = [stream(seed, "x") for _ in range(2)]
    for step in range(500):
        if step % 7 == 6:
            policies[1] = ls.load_policy(policies[1].save(tmp_path / "policy.json"))
        pulls = [policy.ask(step % subjects) for policy in policies]
        assert pulls[0][1:] == pulls[1][1:]
        for policy, pull, noise in zip(policies, pulls, noises, strict=True):
            policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, noise))
    for name, learned in policies[0].learned().items():
        assert np.array_equal(learned, policies[1].learned()[name]), name


def test_a_prior_of_the_true_curves_saves_the_exploration():
    """Told the curves as firmly as 200 observations each, it earns almost all from the start."""
    bandit = five_arms()
    policy = RotationUCB(5, initial=-1, prior=Prior.from_bandit(bandit, strength=200))
    best = ls.optimal_total(bandit, 500).value
    assert ls.simulate(bandit, policy, 500, 0).mean_total >= 0.98 * best


def test_anything_that_offers_a_prior_is_taken_as_one():
    """A fit of curves to logs has a method prior(); that is enough."""

    class Fit:
        def prior(self):
            return Prior([[2.0]], [[1.0]], [[3.0, 1.0]], [[0.0, 0.0]])

    policy = RotationUCB(1, prior=Fit())
    assert policy.learner.books.counts[0, [0, 1, STREAKS]].tolist() == [3.0, 1.0, 2.0]
    assert policy.learner.books.sums.sum() == 1.0


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        ("curves", InputTypeError, "Prior.from_bandit"),
        (Prior([[1.0]], [[1.0]], [[1.0]], [[1.0]]), PolicyError, "each of the 2 arms"),
        (Prior(*[np.full((2, 1), -1.0)] * 4), PolicyError, "0 or more"),
        (Prior(np.ones((2, 3)), np.ones((2, 2)), *[np.ones((2, 1))] * 2), PolicyError, "one shape"),
    ],
)
def test_a_prior_that_does_not_fit_is_refused(prior, error, message):
    """The message says what is wrong with it."""
    with pytest.raises(error, match=message):
        RotationUCB(2, prior=prior)


def test_a_new_arm_is_explored_without_unlearning_the_others():
    """The counts of the others stay, and an arm better than all of them is soon the one played."""
    policy = RotationUCB(2)
    ls.simulate(ls.Bandit([ls.curves.constant(0.4), ls.curves.constant(0.2)]), policy, 400, 0)
    before = policy.learner.books.counts.copy()
    arm = policy.add_arm("new")
    assert (policy.learner.books.counts[:2] == before).all()
    bandit = ls.Bandit([ls.curves.constant(pay) for pay in (0.4, 0.2, 0.9)])
    rng, arms = stream(1, "test"), []
    for _ in range(300):
        pull = policy.ask("another")
        arms.append(pull.arm)
        policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, rng))
    assert np.mean(np.array(arms[100:]) == arm) > 0.9


def test_what_is_known_of_a_new_arm_can_be_told():
    """A prior of one arm is counted as seen there; one of two arms is refused before any change."""
    policy = RotationUCB(2, prior=Prior.from_bandit(two_arms(), strength=3))
    known = Prior.from_bandit(ls.Bandit([ls.curves.constant(0.5)]), strength=4)
    with pytest.raises(PolicyError, match="each of the 1 arms"):
        policy.add_arm("new", Prior.from_bandit(two_arms(), strength=3))
    assert policy.n_arms == len(policy.learner.books.counts) == 2
    policy.add_arm("new", known)
    assert policy.learner.books.counts[2, STREAKS] == 4.0
    assert policy.learner.books.sums[2, STREAKS] == 2.0
    with pytest.raises(PolicyError, match="no other arm has"):
        policy.add_arm("new")


def test_a_retired_arm_is_neither_waited_for_nor_played(tmp_path):
    """With its best arm gone it earns what the others can, also when loaded from a file."""
    policy = RotationUCB(3)
    pays = [ls.curves.constant(pay) for pay in (0.9, 0.5, 0.1)]
    ls.simulate(ls.Bandit(pays), policy, 300, 0)
    proposal = policy.ask(confirm=False)
    assert proposal.arm == 0
    policy.retire(0)
    assert not policy.proposed
    policy = ls.load_policy(policy.save(tmp_path / "policy.json"))
    bandit, rng, arms = ls.Bandit(pays), stream(1, "test"), []
    for _ in range(400):
        pull = policy.ask()
        arms.append(pull.arm)
        policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, rng))
    assert 0 not in arms
    assert np.mean(np.array(arms[200:]) == 1) > 0.8
    assert policy.bound < 0.8
    policy.retire(1)
    with pytest.raises(PolicyError, match="not enough left"):
        policy.retire(2)
    assert policy.retired == [0, 1]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("index", "klucb"),
        ("depth", 0),
        ("lookahead", 0),
        ("width", 0),
        ("commitment", 99),
        ("alpha", 0.0),
        ("streak_depth", 17),
        ("n_arms", 0),
        ("memory", 0),
        ("pooling", "some"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(argument, value):
    """The message names the argument and repeats the value."""
    with pytest.raises(PolicyError, match=rf"{argument}.*{value}"):
        RotationUCB(**{"n_arms": 2, argument: value})


def test_the_bound_falls_towards_the_optimum():
    """What the optimistic tables promise shrinks as they learn, and stays above the truth."""
    bandit = two_arms()
    policy = RotationUCB(2, initial=-1)
    before = policy.bound
    ls.simulate(bandit, policy, 4000, 0)
    truth = ls.optimal_average(bandit).value
    assert truth <= policy.bound < 0.8 * before


def test_looking_at_the_bound_changes_nothing():
    """A policy that is asked for its bound at every turn plays like one that is not."""
    runs = []
    for look in (False, True):
        policy = ls.RotationUCB(5, initial=-1)
        arms, rng = [], np.random.default_rng(3)
        for _ in range(400):
            pull = policy.ask()
            arms.append(pull.arm)
            policy.tell(pull.id, float(rng.random() < 0.5))
            if look:
                assert 0 < policy.bound <= 1 + 1e-9
        runs.append(arms)
    assert runs[0] == runs[1]


def test_tables_stand_while_nothing_new_is_seen_and_fall_when_it_is():
    """Rewards as before leave the tables alone; rewards unlike them are believed."""

    def play(policy, rounds, paid):
        made = policy.learner.tables.tables
        for _ in range(rounds):
            pull = policy.ask()
            policy.tell(pull.id, paid if pull.tau > 1 else 0.0)
        return policy.learner.tables.tables - made

    steady, surprised = RotationUCB(3), RotationUCB(3)
    for policy in (steady, surprised):
        assert play(policy, 4_000, 0.7) > 20
    believed = steady.learner.tables.values
    assert 2 * play(steady, 2_000, 0.7) < play(surprised, 2_000, 0.0)
    assert (
        np.abs(surprised.learner.tables.values - believed).max()
        > 2 * np.abs(steady.learner.tables.values - believed).max()
    )


@pytest.mark.parametrize("paid", [1.0, 0.75])
def test_a_plan_followed_by_another_is_what_planning_anew_would_give(paid):
    """What follows a plan is remembered with it; forgetting that changes no play."""
    runs = []
    for forget in (False, True):
        policy = RotationUCB(4)
        arms, rng = [], np.random.default_rng(5)
        for _ in range(3_000):
            pull = policy.ask()
            arms.append(pull.arm)
            policy.tell(pull.id, float(pull.tau > 2 and rng.random() < paid))
            if forget:
                policy.track().cache = None
        runs.append(arms)
    assert runs[0] == runs[1]


def test_only_news_that_matters_has_tables_made_again():
    """A state seen more often matters if its mean has moved, or all plays have grown, too."""
    policy = RotationUCB(2)
    for _ in range(3_000):
        pull = policy.ask()
        policy.tell(pull.id, float(pull.tau > 0))
    books, tables = policy.learner.books, policy.learner.tables
    tables.stale = False
    cell = int(books.counts.argmax())
    tables.made = float(books.counts.sum())
    tables.basis.reshape(2, -1)[:, cell] = books.seen[cell], books.paid[cell] / books.seen[cell]
    tables.grown(cell, books)
    assert not tables.stale
    assert tables.limits[0].flat[cell] == pytest.approx(1.1 * books.seen[cell])
    for change in ("mean", "plays"):
        other = RotationUCB(2)
        other.resume(policy.snapshot())
        changed = other.learner.tables
        if change == "mean":
            changed.basis[1].flat[cell] -= 0.02
        else:
            changed.made /= 1.2
        changed.grown(cell, other.learner.books)
        assert changed.stale


def test_a_file_that_does_not_say_what_its_tables_were_made_of_is_read(tmp_path):
    """Then they are made again sooner; what was seen and believed is there."""
    policy = RotationUCB(3)
    for _ in range(50):
        policy.tell(policy.ask().id, 1.0)
    snapshot = policy.snapshot()
    del snapshot["learned"]["basis"]
    again = RotationUCB(3)
    again.resume(snapshot)
    assert again.learner.tables.values.tolist() == policy.learner.tables.values.tolist()
    assert [again.ask().arm for _ in range(30)]


def test_a_file_of_before_there_were_kinds_of_curves_is_read():
    """What was seen is there, and what is believed of it is made anew."""
    policy = RotationUCB(3)
    for _ in range(50):
        policy.tell(policy.ask().id, 1.0)
    snapshot = policy.snapshot()
    del snapshot["learned"]["kinds"]
    snapshot["learned"]["hazards"] = np.full((3, 3), 1 / 3)
    again = RotationUCB(3)
    again.resume(snapshot)
    assert again.learner.books.counts.tolist() == policy.learner.books.counts.tolist()
    assert again.learner.tables.stale
    assert [again.ask().arm for _ in range(30)]
    assert again.learner.tables.kinds.any()


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e6, 1e11, 2e12, 1e16, 1e100, 1e306])
@pytest.mark.parametrize("paid", [0.0, 0.3, 1.0])
def test_a_prior_of_any_size_is_taken_or_refused_by_name(size, paid):
    """Counts whose likelihoods no number holds are refused; with all others something is played."""
    counts = np.full((3, 4), size)
    prior = Prior(counts, paid * counts, counts, paid * counts)
    if size > 1e11:
        with pytest.raises(PolicyError, match="at most 1e\\+12"):
            RotationUCB(3, prior=prior)
        return
    policies = [RotationUCB(3, prior=prior), RuledRotationUCB(3, prior=prior, plays=(0, 2))]
    for policy in policies:
        for _ in range(30):
            for pull in policy.ask_round():
                policy.tell(pull.id, 1.0)
        assert np.isfinite(policy.learner.tables.values).all()
