"""Ids lead to their pulls, however plays, proposals and files are mixed."""

import random

import pytest

from lastswitch.learning import FixedCycle
from lastswitch.learning.policy.ledger import Ledger, Pull


@pytest.mark.parametrize("seed", range(6))
def test_every_id_leads_to_its_place_and_no_other_does(seed):
    """Over several runs of ids, some cancelled and some confirmed late or after a load."""
    rng, policy = random.Random(seed), FixedCycle([0, 1, 2])
    played, dropped = [], []
    for turn in range(900):
        subject, kind = rng.randrange(3), rng.random()
        standing = policy._proposals.of(subject)
        if kind < 0.5:
            played.append(policy.ask(subject))
        elif kind < 0.8:
            policy.ask(subject, confirm=False)
        elif standing is not None and kind < 0.9:
            policy.confirm(standing.pulls[0].id)
            played.append(standing.pulls[0])
        elif standing is not None:
            policy.cancel(standing.pulls[0].id)
            dropped.append(standing.pulls[0])
        if turn % 301 == 300:
            policy, old = FixedCycle([0, 1, 2]), policy
            policy.resume(old.snapshot())
    assert len({pull.id for pull in (*played, *dropped)}) == len(played) + len(dropped)
    places = [policy._ledger.place(pull.id) for pull in played]
    assert places == list(range(policy.n_asked))
    waiting = [pull.id for pull in (*dropped, *policy.proposed)]
    assert [policy._ledger.place(name) for name in waiting] == [None] * len(waiting)


@pytest.mark.parametrize("confirm", [True, False])
def test_pulls_in_order_make_one_span(confirm):
    """Asked at once or always proposed first, ids take no room of their own in a file."""
    policy = FixedCycle([0, 1])
    for _ in range(600):
        pull = policy.ask(confirm=confirm)
        policy.confirm(pull.id)
    assert len(policy.snapshot()["spans"]) == 1


def test_no_two_books_hand_out_one_id():
    """Each draws a prefix of its own; an id from elsewhere leads nowhere until it is entered."""
    names = [Ledger().new_id() for _ in range(50)]
    assert len(set(names)) == 50
    ledger = Ledger()
    assert ledger.place(names[0]) is None
    ledger.enter(Pull(names[0], 0, 1, None), None)
    assert ledger.place(names[0]) == 0
