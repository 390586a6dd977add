"""Rounds of several plays, and silence: asked, proposed, confirmed, told and saved."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.errors import BlockError, InputTypeError, PolicyError, TellError
from lastswitch.learning import UCB1, FixedCycle, Policy, load_policy
from lastswitch.testing import check_policy


class LongestRested(Policy):
    """Plays the arms that have rested longest, and none in every third round."""

    shared = ("heard",)

    def __init__(self, n_arms, plays, *, initial=1, rewards=(0.0, 1.0)):
        super().__init__(n_arms, initial=initial, rewards=rewards, plays=plays)
        self.heard = [0.0] * n_arms

    def choose_round(self, track, allowed):
        """Return the arms, as many as there may be."""
        least, most = self.plays
        size = least if track.clock % 3 == 2 else most
        arms = [arm for arm in range(self.n_arms) if allowed is None or allowed[arm]]
        return sorted(arms, key=lambda arm: -track.tau(arm))[:size]

    def playing(self, track, arms):
        """Leave a note."""
        track.note = list(arms)

    def learn(self, pull, reward, note):
        """Count what was heard of whom, and check the note."""
        assert pull.arm in note
        self.heard[pull.arm] += reward


def arms_of(pulls):
    """Return the arms of a round."""
    return [pull.arm for pull in pulls]


@pytest.mark.parametrize("plays", [(0, 1), (0, 2), 2, (1, 3), 3])
def test_policies_of_rounds_keep_the_contract(plays):
    """Whatever the number of plays: states, masks, proposals, late news and files."""
    check_policy(lambda: LongestRested(4, plays), n_arms=4, rounds=60)


def test_cycles_of_rounds_keep_the_contract():
    """The simplest policy of several plays and silence."""
    check_policy(lambda: FixedCycle([(0, 1), (), (2,)]), n_arms=3, rounds=60)


def test_a_round_of_a_one_play_policy_is_one_pull():
    """Asked for a round it gives what ask gives."""
    policy, twin = UCB1(3), UCB1(3)
    for _ in range(5):
        (pull,) = policy.ask_round("ann")
        assert pull[1:] == twin.ask("ann")[1:]
        policy.tell(pull.id, 1.0)
        twin.tell(twin.outstanding[0].id, 1.0)


def test_one_pull_of_a_policy_of_rounds_is_refused_and_leads_on():
    """Of a subject not seen and of one that was, and nothing changes."""
    policy = FixedCycle([(0, 1), ()])
    with pytest.raises(PolicyError, match="call ask_round"):
        policy.ask("ann")
    assert policy.subjects == []
    policy.ask_round("ann")
    with pytest.raises(PolicyError, match=r"plays 0 to 2 arms a round"):
        policy.ask("ann")
    assert policy.track("ann").now == 1


def test_pulls_of_a_round_stand_or_fall_together():
    """The id of one confirms all, or cancels all."""
    policy = LongestRested(4, 2)
    first = policy.ask_round("ann", confirm=False)
    assert policy.proposed == list(first)
    policy.cancel(first[1].id)
    assert policy.proposed == []
    again = policy.ask_round("ann", confirm=False)
    policy.confirm(again[1].id)
    policy.confirm(again[0].id)
    assert policy.outstanding == list(again)
    assert policy.track("ann").state() == [-1, -1, 2, 2]
    with pytest.raises(PolicyError, match="cannot be cancelled"):
        policy.cancel(again[0].id)
    policy.tell(again[1].id, 1.0)
    assert policy.heard == [0.0, 1.0, 0.0, 0.0]
    assert policy.outstanding == [again[0]]


def test_a_proposed_silence_stands_until_it_is_asked_for_or_the_round_goes_by():
    """It has no id; asking plays it, and so does the clock."""
    policy = FixedCycle([(), (0, 1)])
    assert policy.ask_round(confirm=False) == ()
    assert policy.subjects == []
    assert policy.ask_round(confirm=False) == ()
    assert policy.ask_round() == ()
    assert policy.track().now == 1
    assert arms_of(policy.ask_round()) == [0, 1]
    assert policy.ask_round(confirm=False) == ()
    policy.advance()
    assert policy.track().now == 3


def test_a_proposed_round_is_played_though_the_policy_has_changed_its_mind():
    """A mask that is given later withdraws it; without one it stays what it was."""
    policy = LongestRested(4, (0, 2))
    pulls = policy.ask_round(confirm=False)
    assert policy.ask_round(confirm=False, allowed=[0, 1, 2]) == pulls
    other = policy.ask_round(confirm=False, allowed=[2, 3])
    assert arms_of(other) == [2, 3]
    with pytest.raises(TellError, match="was cancelled or has expired"):
        policy.tell(pulls[0].id, 1.0)


@pytest.mark.parametrize("silent", [False, True])
def test_proposed_rounds_survive_a_file(tmp_path, silent):
    """Pulls of one round are one proposal again, and a silence is a silence."""
    policy = FixedCycle([(0, 2), ()])
    if silent:
        policy.ask_round("ann")
    pulls = policy.ask_round("ann", confirm=False)
    policy.ask_round("bob", confirm=False)
    again = load_policy(policy.save(tmp_path / "policy.json"))
    assert again.proposed == policy.proposed
    assert again.ask_round("ann") == pulls == policy.ask_round("ann")
    assert again.track("ann").to_row() == policy.track("ann").to_row()


def test_a_silent_round_may_allow_no_arm_and_a_full_one_not():
    """An empty list is a mask where silence is a choice."""
    assert LongestRested(3, (0, 2)).ask_round(allowed=[]) == ()
    with pytest.raises(PolicyError, match="list of arms by number"):
        LongestRested(3, (1, 2)).ask_round(allowed=[])
    with pytest.raises(PolicyError, match="leaves 1 arms, and a round plays at least 2"):
        LongestRested(3, 2).ask_round(allowed=[0])


@pytest.mark.parametrize("arms", [[0, 0], [3], [0], [0, 1, 2], [-1, 0]])
def test_a_choice_that_is_no_round_is_the_author_s_to_mend(arms):
    """Twice the same arm, one that is not there, too few or too many."""

    class Wrong(Policy):
        def choose_round(self, track, allowed):
            return arms

    with pytest.raises(PolicyError, match="Mend its choose_round"):
        Wrong(3, plays=2).ask_round()


def test_a_policy_must_be_able_to_choose_what_it_plays():
    """One play needs choose, others choose_round."""

    class Nothing(Policy):
        pass

    class One(Policy):
        def choose(self, track, allowed):
            return 0

    with pytest.raises(InputTypeError, match="has no choose"):
        Nothing(2)
    with pytest.raises(InputTypeError, match="has no choose_round"):
        One(2, plays=2)


@pytest.mark.parametrize("block", [[()], [(0, 0)], [(0, -1)]])
def test_cycles_of_rounds_that_are_none_are_refused(block):
    """Silence alone, an arm twice in a round, an arm below 0."""
    with pytest.raises(BlockError):
        FixedCycle(block)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 3), max_size=3).map(sorted), min_size=1, max_size=5),
    st.lists(st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from("apx")), max_size=20),
)
def test_rounds_proposed_and_cancelled_leave_no_trace(block, turns):
    """Asked, proposed and confirmed, or cancelled in between: the same rounds."""
    if not any(block):
        block.append([0])
    with_them, without = FixedCycle(block, 4), FixedCycle(block, 4)
    for subject, kind in turns:
        if kind != "a":
            pulls = with_them.ask_round(subject, confirm=False)
        if kind == "x":
            for pull in pulls[:1]:
                with_them.cancel(pull.id)
        pulls, plain = with_them.ask_round(subject), without.ask_round(subject)
        assert [pull[1:] for pull in pulls] == [pull[1:] for pull in plain]
