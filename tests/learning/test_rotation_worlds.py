"""RotationUCB where curves move, and where subjects differ."""

import numpy as np
import pytest

import lastswitch as ls
from lastswitch._utils.random import stream
from lastswitch.errors import FileError, PolicyError
from lastswitch.learning import RotationUCB


def play(policy, worlds, rounds, subjects=(None,), seed=0):
    """Play a round of ``worlds(t, subject)`` per subject and return the means earned."""
    rng = stream(seed, "worlds")
    earned = np.empty((len(subjects), rounds))
    for t in range(rounds):
        for row, subject in enumerate(subjects):
            bandit, pull = worlds(t, subject), policy.ask(subject)
            earned[row, t] = bandit.mean(pull.arm, pull.tau)
            policy.tell(pull.id, bandit.sample(pull.arm, pull.tau, rng))
    return earned


def flat(*pays):
    """Return a bandit of arms that always pay the same."""
    return ls.Bandit([ls.curves.constant(pay) for pay in pays])


@pytest.mark.parametrize(("memory", "weight"), [(50, 50.0), (None, 300.0)])
def test_rewards_fade_by_their_age(memory, weight):
    """With a memory of 50 rounds all rewards together count for about 50; without, each for one."""
    policy = RotationUCB(2, memory=memory)
    play(policy, lambda t, _: flat(0.5, 0.4), 300)
    assert policy.learner.books.counts.sum() == pytest.approx(weight, rel=0.1 if memory else 0.0)


def test_rounds_in_which_nothing_is_played_fade_rewards_too():
    """A memory is in rounds, not in plays."""
    policy = RotationUCB(2, memory=50)
    play(policy, lambda t, _: flat(0.5, 0.4), 100)
    policy.advance(rounds=200)
    policy.ask()
    assert policy.learner.books.counts.sum() < 0.05 * 50


def test_a_jump_is_found_again_with_a_memory_and_late_or_never_without():
    """An arm that paid nothing for 4,000 rounds becomes the best: a memory finds it in 300."""
    before, after = flat(0.5, 0.3, 0.05), flat(0.5, 0.3, 0.95)

    def late(memory, seed):
        policy = RotationUCB(3, memory=memory)
        earned = play(policy, lambda t, _: before if t < 4000 else after, 4600, seed=seed)
        return earned[0, 4300:].mean()

    assert min(late(400, seed) for seed in range(3)) > 0.85 * 0.95
    assert np.mean([late(None, seed) for seed in range(3)]) < 0.75


def two_kinds(t, subject):
    """Even subjects like the first arm, odd ones the second."""
    return flat(0.9, 0.2) if subject % 2 == 0 else flat(0.2, 0.9)


@pytest.mark.parametrize(
    ("pooling", "least", "most"), [("all", 0, 0.7), ("none", 0.8, 1), ("partial", 0.8, 1)]
)
def test_subjects_who_differ_are_told_apart_unless_all_are_pooled(pooling, least, most):
    """Subjects of two kinds: pooled they get one plan, which suits half of them."""
    earned = play(RotationUCB(2, pooling=pooling), two_kinds, 120, subjects=range(6))
    assert least <= earned[:, 60:].mean() / 0.9 <= most + 1e-9


def test_partial_pooling_finds_how_alike_subjects_are():
    """What others showed counts for much among equals, and for little among opposites."""
    strengths = []
    for worlds in (lambda t, subject: flat(0.8, 0.3), two_kinds):
        policy = RotationUCB(2, pooling="partial")
        play(policy, worlds, 80, subjects=range(6))
        strengths.append(policy.learner.strength)
    assert strengths[0] > strengths[1] + 2


def test_what_a_subject_keeps_is_bounded_by_the_states_it_was_seen_in():
    """Twice the rounds in the same states take no more memory."""
    policy = RotationUCB(2, pooling="partial", depth=2, max_depth=2)
    play(policy, two_kinds, 300, subjects=range(2))
    assert all(
        len(policy.track(subject).memory) <= 3 * policy.learner.books.counts.size
        for subject in (0, 1)
    )
    kept = sum(policy.track(subject).memory[1::3] != [] for subject in (0, 1))
    assert kept == 2
    assert sum(sum(policy.track(subject).memory[1::3]) for subject in (0, 1)) == 600


def test_fading_with_subjects_apart_is_refused():
    """Only what all share fades, and the message says so."""
    with pytest.raises(PolicyError, match=r"pooling='none'"):
        RotationUCB(2, memory=10, pooling="none")


def test_a_file_with_rewards_no_subject_can_have_is_refused(tmp_path):
    """A subject paid more than it was seen."""
    policy = RotationUCB(2, pooling="partial")
    play(policy, two_kinds, 5, subjects=range(2))
    policy.track(0).memory[2] = 99.0
    with pytest.raises(FileError, match="cannot have been paid"):
        ls.load_policy(policy.save(tmp_path / "policy.json"))
