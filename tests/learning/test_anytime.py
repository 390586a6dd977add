"""The doubling trick."""

from functools import partial

import pytest

from lastswitch.errors import InputTypeError
from lastswitch.learning import UCB1, Anytime, CombUCB1, ISICombUCB1, Policy, load_policy


class Counting(Policy):
    """Plays arm 0 and counts what it hears."""

    shared = ("heard", "lost")

    def __init__(self, n_arms, horizon):
        super().__init__(n_arms)
        self.horizon = horizon
        self.heard = self.lost = 0

    def choose(self, track, allowed):
        """Return arm 0, or the first allowed one."""
        track.memory = (track.memory or 0) + 1
        return 0 if allowed is None else allowed.index(True)

    def learn(self, pull, reward, note):
        """Count it."""
        self.heard += 1

    def missed(self, pull, note):
        """Count it as lost."""
        self.lost += 1


def test_epochs_double():
    """Horizons T, 2T, 4T follow each other, each for as many rounds, over all subjects."""
    policy = Anytime(partial(Counting, 2), first=10)
    horizons = []
    for turn in range(150):
        policy.ask(("ann", "bob")[turn % 2])
        horizons.append(policy.inner.horizon)
    assert horizons == [10] * 10 + [20] * 20 + [40] * 40 + [80] * 80


def test_an_epoch_starts_afresh_from_the_states_it_finds():
    """Estimates and memories are forgotten; the arms stay where they are."""
    policy = Anytime(partial(Counting, 2), first=4)
    for _ in range(4):
        policy.tell(policy.ask().id, 1.0)
    assert policy.inner.heard == 4
    assert policy.ask().tau == -4
    assert policy.inner.heard == 0
    assert policy.track().memory == [1, 1]


def test_a_reward_of_an_epoch_that_ended_teaches_nothing():
    """News of the old policy's pulls does not reach the new one."""
    policy = Anytime(partial(Counting, 2), first=2)
    pulls = [policy.ask() for _ in range(4)]
    policy.tell(pulls[0].id, 1.0)
    policy.tell(pulls[1].id, None)
    policy.tell(pulls[2].id, 1.0)
    policy.tell(pulls[3].id, None)
    assert (policy.inner.heard, policy.inner.lost) == (1, 1)


def test_an_epoch_s_policy_plays_as_it_would_alone():
    """What it counts, asks and subjects included, is what it would count by itself."""
    inside, alone = Anytime(lambda horizon: UCB1(3), first=200), UCB1(3)
    for turn in range(150):
        pulls = [policy.ask(turn % 2) for policy in (inside, alone)]
        assert pulls[0][1:] == pulls[1][1:]
        for policy, pull in zip((inside, alone), pulls, strict=True):
            policy.tell(pull.id, float((pull.arm + turn) % 3 == 0))
    assert (inside.inner.n_asked, inside.inner.subjects) == (150, [0, 1])


def test_a_loaded_epoch_s_policy_knows_how_often_it_was_asked(tmp_path):
    """Asks of earlier epochs do not count."""
    policy = Anytime(partial(Counting, 2), first=4)
    for _ in range(9):
        policy.ask()
    again = load_policy(policy.save(tmp_path / "policy.json"))
    assert again.inner.n_asked == policy.inner.n_asked == 5


def test_blocks_do_not_outlive_their_epoch():
    """A subject in the middle of a block begins a new one with the new policy."""
    policy = Anytime(lambda horizon: CombUCB1(3, 5), first=7)
    for _ in range(8):
        policy.ask()
    assert policy.inner.blocks == 1
    assert policy.track().at == 1


def test_the_theorem_s_block_grows_with_the_epochs():
    """With no block given, longer horizons get longer blocks."""
    policy = Anytime(partial(ISICombUCB1, 2), first=2**20)
    sizes = [policy.inner.length]
    policy.epoch, policy.left = 12, 0
    policy.ask()
    sizes.append(policy.inner.length)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("factory", [3, lambda horizon: "a policy"])
def test_a_factory_must_build_policies(factory):
    """Anything else is refused at once."""
    with pytest.raises(InputTypeError, match="factory"):
        Anytime(factory)
