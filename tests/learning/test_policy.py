"""Asking and telling: ids, subjects, masks, late, missing and repeated rewards."""

import gc
import math
import tracemalloc

import numpy as np
import pytest

from lastswitch.errors import InputTypeError, PolicyError, TellError
from lastswitch.learning import FixedCycle, Policy


class Longest(Policy):
    """Plays the arm that has rested longest, and keeps every reward it hears."""

    shared = ("heard",)

    def __init__(self, n_arms, *, initial=1):
        super().__init__(n_arms, initial=initial)
        self.heard = []

    def choose(self, track, allowed):
        """Return the arm with the largest state, noting the subject's clock."""
        states = track.state()
        track.note = track.clock
        arms = [arm for arm in range(self.n_arms) if allowed is None or allowed[arm]]
        return max(arms, key=states.__getitem__)

    def learn(self, pull, reward, note):
        """Keep it."""
        self.heard.append([pull.arm, reward, note])

    def missed(self, pull, note):
        """Keep that it is missing."""
        self.heard.append([pull.arm, None, note])


def test_rewards_may_come_late_and_in_any_order():
    """Each reward reaches the policy with the pull it belongs to and the note left with it."""
    policy = Longest(3)
    pulls = [policy.ask() for _ in range(4)]
    for k in (2, 0, 3):
        policy.tell(pulls[k].id, k / 10)
    assert policy.heard == [[2, 0.2, 2], [0, 0.0, 0], [0, 0.3, 3]]
    assert policy.outstanding == [pulls[1]]


@pytest.mark.parametrize("missing", [None, math.nan, np.float64("nan")])
def test_a_reward_may_be_told_as_missing(missing):
    """None and NaN close the pull without teaching anything."""
    policy = Longest(2)
    policy.tell(policy.ask().id, missing)
    assert policy.heard == [[0, None, 0]]
    assert policy.outstanding == []


@pytest.mark.parametrize("reward", [0.5, 0.0, 1, None])
def test_telling_the_same_again_does_nothing(reward):
    """A repeated message is heard once."""
    policy = Longest(2)
    pull = policy.ask()
    policy.tell(pull.id, reward)
    policy.tell(pull.id, reward)
    assert len(policy.heard) == 1


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.6), (None, 0.5), (0.5, None), (1, 0)])
def test_telling_something_else_is_refused(first, second):
    """A contradiction raises and leaves the first reward in place."""
    policy = Longest(2)
    pull = policy.ask()
    policy.tell(pull.id, first)
    with pytest.raises(TellError, match="already told"):
        policy.tell(pull.id, second)
    policy.tell(pull.id, first)
    assert len(policy.heard) == 1


@pytest.mark.parametrize("change", ["{}9", "{}-1", "0{}", "{}x", "", "é-²"])
def test_a_pull_never_asked_has_no_reward(change):
    """Ids that were not handed out are refused by name."""
    policy = Longest(2)
    name = change.format(policy.ask().id)
    with pytest.raises(TellError, match=f"pull '{name}' is not one that this policy asked"):
        policy.tell(name, 1.0)


@pytest.mark.parametrize("name", [0, -1, None, ["a"], 3.5])
def test_what_is_no_id_has_no_reward(name):
    """Numbers and lists are refused by name, not by Python."""
    policy = Longest(2)
    policy.ask()
    with pytest.raises(TellError, match="is not one that this policy asked"):
        policy.tell(name, 1.0)


@pytest.mark.parametrize("reward", [math.inf, -math.inf])
def test_an_infinite_reward_is_refused(reward):
    """Only finite rewards can be averaged; the pull stays open."""
    policy = Longest(2)
    pull = policy.ask()
    with pytest.raises(TellError, match="finite"):
        policy.tell(pull.id, reward)
    assert policy.outstanding == [pull]


def test_a_reward_that_is_no_number_is_refused():
    """A word is not a reward, and the error is a TypeError."""
    policy = Longest(2)
    with pytest.raises(TypeError, match="'good'"):
        policy.tell(policy.ask().id, "good")


def test_subjects_have_their_own_states():
    """What one subject plays leaves the others where they were."""
    policy = Longest(3)
    for _ in range(5):
        policy.ask("ann")
    assert policy.ask("bob")[1:] == (0, 1, "bob")
    assert policy.track("ann").clock == 5
    assert policy.subjects == ["ann", "bob"]


def test_a_subject_may_start_in_a_state_of_its_own():
    """A subject with a past is enrolled in the state that past left."""
    policy = Longest(3)
    policy.enrol("ann", state=[2, 9, -3])
    assert policy.ask("ann").arm == 1
    assert policy.track("ann").state() == [3, -1, 1]
    with pytest.raises(PolicyError, match="already known"):
        policy.enrol("ann")


def test_a_subject_must_fit_in_a_file():
    """A tuple is refused before anything is created."""
    policy = Longest(2)
    with pytest.raises(InputTypeError, match="string, an integer or None"):
        policy.ask(("ann", 1))
    assert policy.subjects == []


@pytest.mark.parametrize("allowed", [[2], [False, False, True], np.array([2]), (2,)])
def test_masks_name_arms_or_mark_them(allowed):
    """Indices and bools say the same thing."""
    assert Longest(3).ask(allowed=allowed).arm == 2


@pytest.mark.parametrize(
    "allowed", [[], [3], [-1], [2, 2], [False] * 3, [True, True], 1, ["a"], [[0]], [[0], [0, 1]]]
)
def test_a_mask_that_makes_no_sense_is_refused(allowed):
    """The refused ask leaves no pull and no subject behind."""
    policy = Longest(3)
    with pytest.raises(PolicyError, match="allow"):
        policy.ask(allowed=allowed)
    assert policy.n_asked == 0
    assert policy.subjects == []


@pytest.mark.parametrize("arm", [3, -1])
def test_a_choice_that_is_no_arm_is_caught(arm):
    """A faulty policy is told which method to mend, and nothing is played."""

    class Faulty(Policy):
        def choose(self, track, allowed):
            return arm

    policy = Faulty(3)
    with pytest.raises(PolicyError, match=f"Faulty.choose returned arm {arm}"):
        policy.ask()
    assert policy.track().clock == 0


@pytest.mark.parametrize(("initial", "state"), [(-1, [-1, -1]), ([3, -2], [3, -2]), (0, [0, 0])])
def test_the_start_is_honoured(initial, state):
    """Every subject starts in ``initial``."""
    policy = Longest(2, initial=initial)
    assert policy.track("ann").state() == state
    assert policy.ask("ann").tau in state


@pytest.mark.parametrize("initial", [[1, 1, 1], 0.5, "rested"])
def test_a_start_that_does_not_fit_is_refused(initial):
    """One integer, or one per arm."""
    with pytest.raises(PolicyError, match="start states"):
        Longest(2, initial=initial)


def test_an_idle_subject_costs_less_than_a_kilobyte():
    """Ten thousand named subjects of ten arms, each with a block, take under 10 MB."""
    policy = FixedCycle(range(10))
    gc.collect()
    tracemalloc.start()
    for number in range(10_000):
        pull = policy.ask(f"subject-{number:07d}")
        policy.tell(pull.id, 1.0)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 10_000 < 1000


def test_a_told_pull_costs_a_few_bytes():
    """What is remembered of a told reward does not exceed sixteen bytes."""
    policy = FixedCycle([0, 1])
    policy.tell(policy.ask().id, 1.0)
    tracemalloc.start()
    for _ in range(20_000):
        policy.tell(policy.ask().id, 1.0)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 20_000 < 16
