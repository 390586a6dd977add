"""Proposals, clocks and ranges of rewards: what is asked is not always played, nor every round."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastswitch as ls
from lastswitch.errors import InputTypeError, PolicyError, TellError
from lastswitch.learning import (
    UCB1,
    Anytime,
    FixedCycle,
    ISICombUCB1,
    Policy,
    Prior,
    RotationUCB,
    load_policy,
)
from lastswitch.learning.saving import encode


def test_a_proposal_moves_nothing_until_it_is_confirmed():
    """The states, the clock and what was learned stay; a confirmation moves them."""
    policy = RotationUCB(3)
    pull = policy.ask("ann", confirm=False)
    assert (policy.subjects, policy.n_asked, policy.proposed) == ([], 0, [pull])
    policy.confirm(pull.id)
    assert (policy.subjects, policy.n_asked, policy.proposed) == (["ann"], 1, [])
    assert policy.track("ann").tau(pull.arm) == -1
    policy.tell(pull.id, 1.0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from("acx")), max_size=40))
def test_cancelled_proposals_leave_no_trace(turns):
    """Whatever happens in between, a policy with cancelled proposals is one that never had them."""
    with_them, without = (RotationUCB(3, seed=1, index="thompson") for _ in range(2))
    for subject, kind in turns:
        if kind == "x":
            with_them.cancel(with_them.ask(subject, confirm=False).id)
            continue
        if kind == "c":
            pulls = [with_them.ask(subject, confirm=False), without.ask(subject)]
            with_them.confirm(pulls[0].id)
        else:
            pulls = [with_them.ask(subject), without.ask(subject)]
        assert pulls[0][1:] == pulls[1][1:]
        for policy, pull in zip((with_them, without), pulls, strict=True):
            policy.tell(pull.id, float(pull.arm == 0))
    for name, learned in with_them.learned().items():
        assert np.array_equal(learned, without.learned()[name])


def test_a_proposal_is_played_though_the_policy_has_changed_its_mind():
    """News that come before the confirmation change what follows, not what was proposed."""
    policy = UCB1(2)
    for arm in (0, 1):
        policy.tell(policy.ask(allowed=[arm]).id, float(arm == 0))
    waiting = [policy.ask("bob", allowed=[0]) for _ in range(30)]
    pull = policy.ask("ann", confirm=False)
    for late in waiting:
        policy.tell(late.id, 0.0)
    assert policy.ask("cid").arm != pull.arm
    policy.confirm(pull.id)
    assert policy.track("ann").tau(pull.arm) == -1


def test_a_block_is_planned_anew_after_a_proposal_the_policy_would_not_make():
    """The forced arm is not repeated as a block of its own."""
    policy = ISICombUCB1(3, 4)
    pull = policy.ask("ann", confirm=False)
    for _ in range(40):
        other = policy.ask("bob")
        policy.tell(other.id, float(other.arm != pull.arm))
    policy.confirm(pull.id)
    assert {policy.ask("ann").arm for _ in range(4)} != {pull.arm}


def test_a_standing_proposal_answers_every_further_ask():
    """Asked again it is the same pull; an ask that confirms plays it."""
    policy = FixedCycle([0, 1, 2])
    pull = policy.ask(confirm=False)
    assert policy.ask(confirm=False) == pull
    assert policy.ask(confirm=False, allowed=[0, 1]) == pull
    assert policy.ask() == pull
    policy.confirm(pull.id)
    assert (policy.n_asked, policy.ask().arm) == (1, 1)


def test_a_proposal_whose_arm_is_forbidden_is_replaced():
    """The new one stands, the old one does not."""
    policy = FixedCycle([0, 1, 2])
    old = policy.ask(confirm=False)
    new = policy.ask(confirm=False, allowed=[2])
    assert (new.arm, policy.proposed) == (2, [new])
    with pytest.raises(PolicyError, match=r"no pull .* is proposed"):
        policy.confirm(old.id)


@pytest.mark.parametrize("move", ["advance", "at", "earlier"])
def test_a_proposal_expires_with_its_round(move):
    """Once the subject's clock has left its round it can be neither confirmed nor told."""
    policy = FixedCycle([0, 1, 2])
    policy.ask("ann", at=3)
    pull = policy.ask("ann", at=5, confirm=False)
    if move == "advance":
        policy.advance("ann", 1)
    else:
        policy.ask("ann", at=9 if move == "at" else 4)
    assert policy.proposed == []
    for call in (policy.confirm, policy.cancel):
        with pytest.raises(PolicyError, match="expired"):
            call(pull.id)
    with pytest.raises(TellError, match="expired"):
        policy.tell(pull.id, 1.0)


def test_what_is_only_proposed_has_no_reward_and_what_is_played_is_not_cancelled():
    """Each is refused by name, and changes nothing."""
    policy = FixedCycle([0, 1])
    pull = policy.ask(confirm=False)
    with pytest.raises(TellError, match="only proposed; confirm it"):
        policy.tell(pull.id, 1.0)
    policy.confirm(pull.id)
    with pytest.raises(PolicyError, match="cannot be cancelled"):
        policy.cancel(pull.id)
    assert policy.outstanding == [pull]


def test_a_month_away_is_a_month_of_rest():
    """However the clock is told, every arm has rested as many rounds, streaks included."""
    by_rest, by_round = FixedCycle([0, 0, 1]), FixedCycle([0, 0, 1])
    for policy in (by_rest, by_round):
        policy.ask("ann"), policy.ask("ann")
    by_rest.advance("ann", 30)
    assert by_rest.track("ann").state() == [30, 33]
    pulls = [by_rest.ask("ann"), by_round.ask("ann", at=32)]
    assert [pull.tau for pull in pulls] == [33, 33]
    assert by_rest.track("ann").state() == by_round.track("ann").state() == [31, -1]
    assert by_round.track("ann").now == 33


def test_a_subject_s_clock_starts_when_it_is_first_seen():
    """A subject that comes in round 1000 is in ``initial`` then; one who was there has rested."""
    policy = FixedCycle([0, 1], initial=4)
    policy.ask("ann", at=0)
    assert policy.ask("bob", at=1000).tau == 4
    assert policy.ask("ann", at=1000).tau == 1004


def test_a_plan_made_before_a_rest_is_dropped():
    """What follows is planned from the states the rest has left."""
    policy = ISICombUCB1(3, 5)
    policy.ask()
    assert policy.track().block
    policy.advance(None, 10)
    assert not policy.track().block
    policy.ask()
    assert policy.blocks == 2


def test_a_learner_uses_the_rest():
    """Told that its one good arm rested overnight, it plays it at once; left in a streak, not."""
    bandit = ls.Bandit([ls.curves.step(6, 1.0), ls.curves.constant(0.3)])
    for rounds, best in ((0, 1), (10, 0)):
        policy = RotationUCB(2, prior=Prior.from_bandit(bandit, strength=500))
        policy.tell(policy.ask(allowed=[0]).id, 1.0)
        policy.advance(None, rounds)
        assert policy.ask().arm == best


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.ask("ann", at=1),
        lambda p: p.ask("ann", at=-1),
        lambda p: p.ask("ann", at=2.5),
        lambda p: p.ask("ann", at=2**60),
        lambda p: p.advance("ann", -1),
        lambda p: p.advance("ann", 2**60),
        lambda p: p.advance("ann", 0.5),
        lambda p: p.enrol("bob", at=-3),
    ],
)
def test_a_clock_that_makes_no_sense_is_refused(call):
    """Rounds that are over, and what is no round, are named and change nothing."""
    policy = FixedCycle([0, 1])
    policy.ask("ann", at=7)
    before = policy.snapshot()["tracks"]
    with pytest.raises(PolicyError, match=r"round|at must|at "):
        call(policy)
    assert policy.snapshot()["tracks"] == before


@pytest.mark.parametrize("name", ["ann\ud800", True, 2**70, 1.5])
def test_a_subject_no_file_can_hold_is_refused(name):
    """Half a character, a truth value, an endless number."""
    policy = FixedCycle([0, 1])
    with pytest.raises((InputTypeError, PolicyError), match="subject"):
        policy.ask(name)
    assert policy.subjects == []


@pytest.mark.parametrize("reward", [2.0, -0.5, 1e308, -1e308, np.float64(1.5), 7])
def test_a_reward_outside_the_range_teaches_nothing(reward):
    """It is refused by name, the pull stays open, and nothing has changed."""
    policy = RotationUCB(2)
    pull = policy.ask()
    before = policy.snapshot()
    with pytest.raises(TellError, match=r"outside \[0.0, 1.0\].*rewards="):
        policy.tell(pull.id, reward)
    after = policy.snapshot()
    assert all(np.array_equal(after["learned"][k], v) for k, v in before["learned"].items())
    policy.tell(pull.id, 1.0)


@settings(max_examples=20, deadline=None)
@given(
    st.floats(-1e300, 1e300),
    st.floats(1e-3, 1e300),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=30, max_size=30),
)
def test_a_policy_told_its_range_plays_as_one_on_shares_of_it(low, spread, shares):
    """Rewards in any range are learned as shares of it, the largest ones too."""
    high = low + spread
    if not low + 0.5 * spread < high:
        return
    scaled, plain = UCB1(2, rewards=(low, high)), UCB1(2)
    for share in shares:
        pulls = [scaled.ask(), plain.ask()]
        assert pulls[0][1:] == pulls[1][1:]
        reward = min(max(low + share * (high - low), low), high)
        scaled.tell(pulls[0].id, reward)
        plain.tell(pulls[1].id, (reward - low) / (high - low))
    assert all(math.isfinite(total) for total in scaled.sums)


@pytest.mark.parametrize("rewards", [(1, 0), (0, 0), (0,), 3, "01", (0, math.inf), (-1e308, 1e308)])
def test_a_range_that_is_none_is_refused(rewards):
    """Two finite numbers, the smaller first."""
    with pytest.raises((PolicyError, InputTypeError), match="rewards must be"):
        UCB1(2, rewards=rewards)


def test_what_learns_nothing_takes_any_finite_reward():
    """A fixed cycle on rewards in euros needs no range."""
    policy = FixedCycle([0, 1])
    policy.tell(policy.ask().id, 250.0)
    with pytest.raises(TellError, match="finite"):
        policy.tell(policy.ask().id, math.inf)


def test_a_prior_in_another_range_is_scaled_or_refused():
    """A prior counted in euros needs a policy told so."""
    euros = Prior([[2.0]], [[10.0]], [[1.0]], [[0.0]])
    assert RotationUCB(1, rewards=(0, 10), prior=euros).sums.sum() == 1.0
    with pytest.raises(PolicyError, match="outside the rewards"):
        RotationUCB(1, prior=euros)


def test_policies_that_differ_only_in_their_prior_are_described_apart():
    """What a store keys results by holds the prior, by digest, and plain numbers."""
    bandit = ls.instances.five_arms()
    descriptions = [
        RotationUCB(np.int64(5), prior=Prior.from_bandit(bandit, strength)).describe()
        for strength in (5, 5, 6)
    ]
    assert descriptions[0] == descriptions[1] != descriptions[2]
    assert RotationUCB(
        np.int64(5), alpha=np.float64(0.4), initial=np.array([1] * 5)
    ).describe() == (RotationUCB(5, initial=[1] * 5).describe())


def test_the_prior_is_part_of_the_file(tmp_path):
    """A loaded policy says what it was built from, and has counted it once."""
    policy = RotationUCB(5, prior=Prior.from_bandit(ls.instances.five_arms(), 5))
    again = ls.load_policy(policy.save(tmp_path / "policy.json"))
    assert again.describe() == policy.describe()
    assert again.counts.sum() == policy.counts.sum() > 0


def test_a_policy_without_a_horizon_needs_no_doubling():
    """The learner that plays for any number of rounds is refused by name, not run oddly."""
    with pytest.raises(PolicyError, match=r"takes none.*use that policy as it is"):
        Anytime(RotationUCB)


def test_a_decision_searches_no_farther_after_many_plays(monkeypatch):
    """Rounds searched stay bounded per decision, and cycles are searched for ever more rarely."""
    monkeypatch.setattr("lastswitch.learning.rotation._REMEMBERED", 0)
    policy = RotationUCB(2, lookahead=6, width=4, depth=4, max_depth=4)
    rng, searched = np.random.default_rng(0), []
    look = policy._ahead
    policy._ahead = lambda cells, allowed, rounds: (
        searched.append(rounds) or look(cells, allowed, rounds)
    )
    policy.counts[:, :8] = 40_000.0  # as after 640,000 plays
    policy.sums[:, :8] = rng.uniform(0, 40_000, (2, 8))
    for turn in range(2000):
        pull = policy.ask(turn % 7)
        policy.tell(pull.id, float(rng.random() < 0.5))
    assert sum(searched) <= 6 * 2000 + 2 * 6


@pytest.mark.parametrize("look", ["track", "advance", "enrol", "none"])
def test_somebody_new_is_enrolled_in_the_round_that_is_proposed(look, tmp_path):
    """Whoever looks at her before it is confirmed: the file loads, and the books are right."""
    policy = RotationUCB(3)
    pull = policy.ask("dora", at=5, confirm=False)
    {
        "track": lambda: policy.track("dora"),
        "advance": lambda: policy.advance("dora", 0),
        "enrol": lambda: policy.enrol("dora"),
        "none": lambda: None,
    }[look]()
    policy = load_policy(policy.save(tmp_path / "policy.json"))
    assert policy.proposed == [pull]
    policy.confirm(pull.id)
    assert (policy.track("dora").now, pull.tau) == (6, 1)
    assert policy.pending[pull.arm].sum() == policy.pending.sum() == 1.0
    policy.tell(pull.id, 1.0)
    assert policy.pending.sum() == 0.0
    assert load_policy(policy.save(tmp_path / "policy.json")).track("dora").now == 6


@pytest.mark.parametrize("given", [{"at": 4}, {"state": [2, 2, 2]}, {"at": 5, "state": [1, 1, 1]}])
def test_enrolling_elsewhere_withdraws_the_proposal(given):
    """It was for another round, or another state; the same ones leave it standing."""
    policy = RotationUCB(3)
    policy.ask("dora", at=5, confirm=False)
    policy.enrol("dora", **given)
    assert len(policy.proposed) == (given.get("at") == 5)


class Refuses(Policy):
    """Moves its track and draws, and then refuses."""

    def __init__(self, n_arms=2):
        super().__init__(n_arms, seed=0)

    def choose(self, track, allowed):
        """Play the first arm, if there is no mask."""
        track.block, track.at, track.memory = (0, 1), 1, [self.rng.random()]
        if allowed is None:
            return 0
        raise PolicyError("not with a mask")


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize("proposed", [True, False])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("at", [7, 9])
def test_a_refused_ask_changes_nothing(confirm, proposed, known, at):
    """Neither proposals, clocks, who is enrolled nor random numbers."""
    policy = Refuses()
    if known:
        policy.ask("ann")
    if proposed:
        policy.ask("ann", at=7, confirm=False)
    before = json.dumps(encode(policy.snapshot()))
    with pytest.raises(PolicyError):
        policy.ask("ann", at=at, allowed=[1], confirm=confirm)
    assert json.dumps(encode(policy.snapshot())) == before
    policy.ask("ann", at=at)
    assert json.dumps(encode(policy.snapshot())) != before


def test_no_round_is_so_far_that_it_cannot_be_saved(tmp_path):
    """The latest there is can be played, rested after, saved and loaded; later ones are refused."""
    policy = FixedCycle([0, 1], initial=[2**51, -(2**51)])
    for k in range(3):
        policy.ask("ann", at=2**51 - 1 + min(k, 1) if k < 2 else None)
    policy.ask("ann", confirm=False)
    assert load_policy(policy.save(tmp_path / "policy.json")).track("ann").now == 2**51 + 2
    for call in (
        lambda: policy.ask("bob", at=2**51 + 1),
        lambda: policy.advance("bob", 2**51 + 1),
        lambda: policy.enrol("bob", at=2**51 + 1),
        lambda: FixedCycle([0], initial=2**51 + 1),
    ):
        with pytest.raises(PolicyError):
            call()
    assert "bob" not in policy.subjects
