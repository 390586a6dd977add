"""A learner under rules, several plays and silence: no hard rule is ever broken."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from service_cases import Database, Now, ask, running, worker_on
from test_replaying import wrong_in

from lastswitch.rules import Rule, apart, at_least, at_most, never_after, violations
from lastswitch.service.operations import Ask, Tell
from lastswitch.service.rotations import put_rotation
from lastswitch.service.rounds import SharedRounds

ARMS = ("a", "b", "c", "d")
RULES = [
    {"rule": "at_least", "who": "a", "plays": 1, "within": 4},
    {"rule": "apart", "who": "b", "rounds": 3},
    {"rule": "at_most", "who": ["c", "d"], "plays": 2, "within": 3},
    {"rule": "never_after", "who": "d", "whom": "a"},
]
SPEC = {
    "arms": [{"name": name} for name in ARMS],
    "plays": [0, 2],
    "silence": 0.2,
    "rules": RULES,
    "serve": {"decide": "learner", "holdout": 0.2, "holdout_by": "decision", "explore": 0.2},
}
KEPT: list[Rule] = [
    at_least(0, 1, within=4),
    apart(1, 3),
    at_most([2, 3], 2, within=3),
    never_after(3, 0),
]


class Rounds(RuleBasedStateMachine):
    """Two workers on one database, holdout and exploration beside the learner."""

    make_database = None  # given by a test

    @initialize()
    def begin(self):
        """Start with an empty rotation."""
        self.where, self.now = type(self).make_database(), Now()
        self.databases = [Database(self.where, "NORMAL") for _ in range(2)]
        self.databases[0].create()
        put_rotation(self.databases[0], "r", SPEC)
        self.held = [worker_on(database, self.now) for database in self.databases]
        self.workers = [each.__enter__() for each in self.held]
        self.rounds = {"ann": [], "bob": []}
        self.count = itertools.count()

    @rule(
        who=st.integers(0, 1),
        subject=st.sampled_from(["ann", "bob"]),
        allowed=st.none() | st.lists(st.sampled_from(ARMS), min_size=1, unique=True).map(tuple),
        plays=st.none() | st.integers(0, 2),
        reward=st.none() | st.sampled_from([0.0, 1.0]),
    )
    def play(self, who, subject, allowed, plays, reward):
        """Ask, and tell what each arm paid; a round that cannot be played is refused."""
        name = f"d{next(self.count)}"
        asked = Ask("r", name, False, subject, None, allowed, plays)
        ((status, found),) = self.workers[who].do([asked])
        if status == 409:
            assert allowed is not None or plays is not None, found
            return
        assert status == 201, found
        arms = tuple(ARMS.index(arm) for arm in found["arms"])
        assert len(arms) <= 2 if plays is None else len(arms) == plays
        assert allowed is None or set(found["arms"]) <= set(allowed)
        assert 0.0 < found["propensity"] <= 1.0
        self.rounds[subject].append(arms)
        if arms and reward is not None:
            ((status, found),) = self.workers[1 - who].do([Tell(name, (reward,) * len(arms))])
            assert status == 201, found

    def teardown(self):
        """See that no rule was broken, and that rows and journal agree."""
        if hasattr(self, "workers"):
            for each in self.held:
                each.__exit__(None, None, None)
            for database in self.databases:
                database.close()
            for rounds in self.rounds.values():
                assert [v for kept in KEPT for v in violations(kept, rounds, [])] == []
            assert wrong_in(self.where) == []


def hold(make, examples):
    """Hold the service to the rules on databases that ``make`` gives."""
    machine = type("Held", (Rounds,), {"make_database": staticmethod(make)})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )


def test_no_hard_rule_is_broken(tmp_path):
    """By no part of the rotation, whichever worker decides, whatever is allowed."""
    count = itertools.count()
    hold(lambda: str(tmp_path / f"{next(count)}.sqlite"), examples=10)


@pytest.mark.service
def test_no_hard_rule_is_broken_on_postgresql(postgres):
    """The same on PostgreSQL."""
    hold(postgres.url, examples=5)


@settings(max_examples=40, deadline=None)
@given(
    past=st.lists(st.lists(st.integers(0, 3), max_size=2, unique=True).map(sorted), max_size=9),
    start=st.integers(0, 5),
)
def test_what_rules_remember_is_worked_out_from_the_rounds(past, start):
    """The ways that are open are those of a learner that heard every round as it was played."""
    rounds = [tuple(arms) for arms in past]
    learner = SharedRounds(4, rules=KEPT, plays=(0, 2))
    endless = learner.learner.rules.met(start).endless
    held = endless.start
    for arms in rounds:
        held = endless.step(held, endless.number[arms])[0]
    if endless.lasting(held):
        expected = [c for k, c in enumerate(endless.choices) if endless.safe(held, k)]
        assert learner.ways(start + len(rounds), rounds) == expected
    found = learner.decide_round([1] * 4, start + len(rounds), rounds)
    assert found in learner.ways(start + len(rounds), rounds) or not endless.lasting(held)


def test_a_learner_plays_rounds_of_none_and_of_several(database):
    """It finds out that two arms pay, and that silence is better than the third."""
    spec = {
        "arms": [{"name": "good"}, {"name": "fine"}, {"name": "bad"}],
        "plays": [0, 2],
        "silence": 0.3,
        "rules": [{"rule": "at_most", "who": "everyone", "plays": 4, "within": 3}],
        "serve": {"decide": "learner"},
    }
    pays = {"good": 1.0, "fine": 0.8, "bad": 0.0}
    rounds = []
    with running(database, {"r": spec}) as client:
        for _ in range(120):
            found = ask(client).json()
            rounds.append(found["arms"])
            if found["arms"]:
                paid = [pays[name] for name in found["arms"]]
                path = f"/v1/decisions/{found['id']}/reward"
                told = client.post(path, json={"reward": paid if len(paid) > 1 else paid[0]})
                assert told.status_code == 201
        versions = client.get("/v1/rotations/r").json()
    assert versions["rules"]
    late = rounds[60:]
    assert {len(arms) for arms in late} <= {1, 2}
    assert all(sum(map(len, late[k : k + 3])) <= 4 for k in range(len(late) - 2))
    assert sum(arms.count("bad") for arms in late) < 6
    assert any(len(arms) == 2 for arms in late)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            {"rules": [{"rule": "at_least", "who": "a", "plays": 3, "within": 2}], "plays": 1},
            "rule",
        ),
        (
            {
                "rules": [{"rule": "at_most", "who": "a", "plays": 1, "per": "day"}],
                "calendar": {"start": "2024-01-01"},
            },
            "dates",
        ),
    ],
)
def test_rules_that_no_learner_can_keep_are_refused_at_once(change, word, database):
    """Not when somebody is to decide."""
    with running(database, {}) as client:
        found = client.put("/v1/rotations/x", json={**SPEC, **change})
        assert found.status_code == 422
        assert word in found.json()["detail"]
