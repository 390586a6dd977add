"""The contract as a plain model, and a machine that holds the service to it.

The model keeps everything and computes states by playing every round from the first.
"""

import secrets
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from service_cases import CYCLE, Database, Now
from test_replaying import wrong_in

from lastswitch.service.app import _render
from lastswitch.service.operations import Ask, Cancel, Confirm, Tell
from lastswitch.service.rotations import put_rotation
from lastswitch.service.worker import Worker

WINDOW, STAND = 3600.0, 600.0
SUBJECTS = ("ann", "bob")
ARMS = ("a", "b", "c")


class Model:
    """What should happen, in dictionaries."""

    def __init__(self):
        self.played = {name: {} for name in SUBJECTS}  # by round: the arm
        self.offer = dict.fromkeys(SUBJECTS)
        self.decisions, self.keys = {}, {}

    def following(self, subject):
        """Return the subject's next round, None before its first."""
        return max(self.played[subject]) + 1 if self.played[subject] else None

    def tau(self, subject, arm, round_):
        """Return the state of an arm, by playing every round since the first."""
        rounds = self.played[subject]
        if not rounds:
            return 1
        tau = 1
        for number in range(min(rounds), round_):
            tau = min(tau, 0) - 1 if rounds.get(number) == arm else max(tau, 0) + 1
        return tau

    def expire(self, now):
        """Let offers lapse and missing rewards be booked."""
        for name, found in self.decisions.items():
            if found["status"] == "offered" and found["until"] <= now:
                found["status"] = "lapsed"
                if self.offer[found["subject"]] == name:
                    self.offer[found["subject"]] = None
            if found["status"] == "played" and found["due"] <= now:
                found["status"], found["reward"] = "rewarded", 0.0

    def play(self, name, now):
        """Play a decision."""
        found = self.decisions[name]
        found["status"], found["due"] = "played", now + WINDOW
        self.played[found["subject"]][found["round"]] = found["arm"]
        self.offer[found["subject"]] = None


class Contract(RuleBasedStateMachine):
    """Two workers on one database do what the model says, whoever is asked."""

    make_database = None  # given by a test

    @initialize()
    def begin(self):
        """Start with an empty rotation."""
        self.now, self.model = Now(), Model()
        self.where = type(self).make_database()
        self.databases = [Database(self.where, "NORMAL") for _ in range(2)]
        self.databases[0].create()
        put_rotation(self.databases[0], "r", CYCLE)
        self.workers = [self._worker(database) for database in self.databases]

    def _worker(self, database):
        worker = Worker(database, _render, self.now)
        worker.start()
        assert worker.ready.wait(60)
        return worker

    def do(self, who, operation):
        """Do one operation; return its status and body."""
        ((status, body),) = self.workers[who].do([operation])
        return status, body

    @rule(
        who=st.integers(0, 1),
        subject=st.sampled_from(SUBJECTS),
        later=st.none() | st.integers(-1, 3),
        allowed=st.none() | st.lists(st.sampled_from(ARMS), min_size=1, unique=True).map(tuple),
        confirm=st.booleans(),
        key=st.none() | st.sampled_from(["k1", "k2", "k3", "k4", "k5", "k6"]),
    )
    def ask(self, who, subject, later, allowed, confirm, key):
        """Ask, with a key that may have been used before."""
        model, now = self.model, self.now.at
        model.expire(now)
        following = model.following(subject)
        at = None if later is None else max(0, (following or 0) + later)
        body = (subject, at, allowed, confirm)
        name = key or secrets.token_hex(6)
        operation = Ask("r", name, key is not None, subject, at, allowed, None, confirm, repr(body))
        status, found = self.do(who, operation)
        if key in model.keys:
            before, same = model.keys[key], model.keys[key][1] == body
            assert status == (200 if same else 422)
            if same:
                assert found["id"] == before[0]
                self._same(found)
            return
        offer = model.offer[subject]
        standing = model.decisions.get(offer)
        round_ = at
        if at is None:
            round_ = standing["round"] if standing else following or 0
        if following is not None and round_ < following:
            assert status == 409
            return
        fits = standing and standing["round"] == round_
        if fits and (allowed is None or standing["arm"] in allowed):
            assert (status, found["id"]) == (200, offer)
            name = offer
        else:
            assert status == 201, found
            assert found["id"] == name
            if standing:
                standing["status"] = "lapsed"
            self._entered(name, subject, round_, allowed, found)
        if key is not None:
            model.keys[key] = (name, body)
        if confirm:
            model.play(name, now)
        else:
            model.offer[subject] = name
        self._same(found)

    def _entered(self, name, subject, round_, allowed, found):
        (arm,) = found["arms"]
        assert allowed is None or arm in allowed
        assert allowed is not None or arm == ["a", "b", "b", "c"][round_ % 4]
        assert found["state"] == [self.model.tau(subject, arm, round_)]
        self.model.decisions[name] = {
            "subject": subject,
            "round": round_,
            "arm": arm,
            "status": "offered",
            "until": self.now.at + STAND,
            "reward": None,
        }

    def _same(self, found):
        mine = self.model.decisions[found["id"]]
        assert (found["status"], found["reward"], found["round"]) == (
            *(mine["status"], mine["reward"], mine["round"]),
        )

    def _named(self, data):
        names = [*self.model.decisions, "nobody"]
        return data.draw(st.sampled_from(names))

    @rule(who=st.integers(0, 1), data=st.data())
    def confirm(self, who, data):
        """Confirm any decision."""
        name, model = self._named(data), self.model
        model.expire(self.now.at)
        status, found = self.do(who, Confirm(name))
        was = model.decisions.get(name, {"status": None})["status"]
        expected = {None: 404, "offered": 200, "played": 200, "rewarded": 200}.get(was, 410)
        assert status == expected, found
        if was == "offered":
            model.play(name, self.now.at)
        if status == 200:
            self._same(found)

    @rule(who=st.integers(0, 1), data=st.data())
    def cancel(self, who, data):
        """Cancel any decision."""
        name, model = self._named(data), self.model
        model.expire(self.now.at)
        status, found = self.do(who, Cancel(name))
        was = model.decisions.get(name, {"status": None})["status"]
        assert status == {None: 404, "played": 409, "rewarded": 409}.get(was, 200), found
        if was == "offered":
            model.decisions[name]["status"] = "cancelled"
            model.offer[model.decisions[name]["subject"]] = None

    @rule(who=st.integers(0, 1), data=st.data(), reward=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
    def tell(self, who, data, reward):
        """Tell any decision a reward."""
        name, model = self._named(data), self.model
        model.expire(self.now.at)
        status, found = self.do(who, Tell(name, reward))
        mine = model.decisions.get(name, {"status": None})
        was = mine["status"]
        if was in ("played", "rewarded") and reward > 1.0:
            assert status == 422
        elif was == "rewarded":
            assert status == (200 if mine["reward"] == reward else 409)
        else:
            assert status == {None: 404, "played": 201, "offered": 409}.get(was, 410), found
        if was == "played" and reward <= 1.0:
            mine["status"], mine["reward"] = "rewarded", reward
            self._same(found)

    @rule(seconds=st.sampled_from([1.0, 599.0, 600.0, 3600.0]))
    def wait(self, seconds):
        """Let time pass."""
        self.now.at += seconds

    @rule(who=st.integers(0, 1))
    def restart(self, who):
        """End a worker, and start another."""
        self.workers[who].stop()
        self.workers[who] = self._worker(self.databases[who])

    @precondition(lambda self: hasattr(self, "workers"))
    @invariant()
    def rounds_only_grow(self):
        """No subject plays a round twice."""
        for rounds in self.model.played.values():
            assert all(a < b for a, b in pairwise(rounds))

    def teardown(self):
        """See that the tables say what the journal says."""
        if hasattr(self, "workers"):
            for worker in self.workers:
                worker.stop()
            for database in self.databases:
                database.close()
            assert wrong_in(self.where) == []
