"""A learner whose subjects are kept elsewhere learns what one that keeps them learns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastswitch.errors import PolicyError
from lastswitch.learning import RotationUCB
from lastswitch.learning.elsewhere import SharedRotation
from lastswitch.learning.policy.tracks import Track

steps = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0, None])),
    min_size=1,
    max_size=40,
)


@settings(max_examples=15)
@given(steps)
def test_it_plays_and_learns_as_the_policy_does(moves):
    """Subjects, rewards late and missing: the same arms, counts and pending plays."""
    policy, shared = RotationUCB(3), SharedRotation(3)
    policy.track("nobody")  # several subjects, as those kept elsewhere are taken to be
    tracks, waiting = {}, []
    for subject, told, reward in moves:
        pull = policy.ask(subject)
        track = tracks.setdefault(subject, Track((1, 1, 1)))
        arm = shared.decide(track)
        tau = track.play(arm)
        shared.played(arm, tau)
        assert (pull.arm, pull.tau) == (arm, tau)
        waiting.append(pull)
        if told < len(waiting):
            late = waiting.pop(told)
            policy.tell(late.id, reward)
            shared.paid(late.arm, late.tau, reward)
    for name in ("counts", "sums", "squares", "pending"):
        np.testing.assert_array_equal(policy.learned()[name], getattr(shared.books, name))


def test_deciding_alone_counts_nothing():
    """What is decided may never be played."""
    learner = SharedRotation(2)
    for _ in range(3):
        learner.decide(Track((1, 1)), (False, True))
    assert not learner.books.pending.any()
    assert learner.decide(Track((1, 1)), (False, True)) == 1


def test_news_go_to_a_learner_of_more_arms_but_not_of_fewer():
    """What was heard is added, a prior is not."""
    one = SharedRotation(2, rewards=(0.0, 10.0))
    one.played(1, 3)
    one.paid(1, 3, 5.0)
    more = SharedRotation(3, rewards=(0.0, 10.0))
    more.hear(one.news())
    assert more.books.sums.sum(axis=1).tolist() == [0.0, 0.5, 0.0]
    with pytest.raises(PolicyError, match="does not fit"):
        SharedRotation(1).hear(one.news())
    with pytest.raises(PolicyError, match="pooling"):
        SharedRotation(2, pooling="none")
