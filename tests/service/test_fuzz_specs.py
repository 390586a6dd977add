"""Rotations of every kind, sane and mad, put to a real service: it is never down.

``LASTSWITCH_FUZZ=N`` tries N of them, in as many different ways, for a long run.
"""

import json
import os
import random
import time

import httpx2
import pytest
from service_cases import CYCLE, LEARNER, Database, Server

from lastswitch.service.replaying import replay_database
from lastswitch.service.rotations import put_rotation

#: How many rotations are put.
COUNT = int(os.environ.get("LASTSWITCH_FUZZ", "24"))
WHOLE = [0, 1, 2, 3, 7, 24, 100, 366, 1000, 1001, 10**6, 2**31, 2**53, 2**63, 10**30, 10**400, -1]
REAL = [0.0, 0.1, 0.5, 1.0, 1e-300, -1.0, 1e9, 1e15, 1e16, 1e300, 1e308, 5e-324, 10**400]
ODD = [None, "", "x", [], {}, True, [[]], "2024-06-03", "jazz"]


class Mad:
    """Makes rotations, most of them nearly sane, from a stream of numbers."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def one(self, *values):
        """Return one of some values."""
        return self.rng.choice(values)

    def whole(self):
        """Return a whole number, mostly a small one."""
        return self.one(1, 2, 3, 5) if self.rng.random() < 0.6 else self.one(*WHOLE)

    def real(self):
        """Return a number, mostly from 0 to 1."""
        return self.rng.random() if self.rng.random() < 0.7 else self.one(*REAL)

    def spec(self):
        """Return a rotation."""
        count = self.one(1, 2, 3, 3, 5, 5, 12, 40, 200, 500)
        names = [f"a{k}" for k in range(count)]
        arms = [{"name": name, **self.curve()} for name in names]
        if self.rng.random() < 0.3:
            arms = [{"name": name} for name in names]
        spec = {"arms": arms, "serve": self.serve(names, count)}
        for key, value in (
            ("rules", lambda: [self.rule(names) for _ in range(self.one(1, 1, 2, 5, 30))]),
            ("plays", lambda: self.one([0, 1], [0, 2], [1, 2], 2, [0, 5], self.whole())),
            ("silence", self.real),
            ("initial", lambda: self.one(1, -1, self.whole(), [self.whole()] * count)),
            ("calendar", self.calendar),
            ("groups", lambda: {"g": names[: self.one(0, 1, 2)]}),
        ):
            if self.rng.random() < 0.3:
                spec[key] = value()
        if self.rng.random() < 0.1:
            spec[self.one(*spec)] = self.one(*ODD)
        return spec

    def curve(self):
        """Return what an arm pays."""
        if self.rng.random() < 0.1:
            return {"shape": "step", "at": self.whole(), "high": self.real()}
        rest = sorted(self.rng.random() for _ in range(self.one(1, 2, 4)))
        return {"rest": rest, "streak": [rest[0] * self.rng.random()]}

    def rule(self, names):
        """Return a rule, maybe of dates."""
        who = self.one(names[0], names[-1], names[:2], "g", "nobody")
        kind = self.one("at_most", "at_least", "apart", "never")
        rule = {"rule": kind, "who": who}
        if kind == "apart":
            return rule | {"rounds": self.whole()}
        if kind == "never":
            return rule | self.one({"rounds": [self.whole()]}, {"when": "sun"})
        rule |= {"plays": self.whole()}
        rule |= self.one({"within": self.whole()}, {"every": self.whole()}, {"per": "week"}, {})
        return rule | (self.one({}, {}, {"cost": self.real()}))

    def calendar(self):
        """Return a calendar."""
        found = {
            "start": self.one("2024-06-03", "2026-06-03", "0003-01-01", "9990-01-01"),
            "every": self.one("1d", "1h", "1w", "1s", "15min", "366d"),
        }
        more = ({}, {"zone": "Europe/Rome"}, {"skip": "sat-sun"}, {"skip": "mon-sun"})
        return found | self.one(*more)

    def serve(self, names, count):
        """Return how it decides."""
        found = {"decide": self.one("learner", "plan", "cycle")}
        for key, value in (
            ("lookahead", self.whole),
            ("time_limit", lambda: self.one(0.01, 0.1, 10, self.real())),
            ("prior", lambda: self.one(5, self.real(), self.prior(count))),
            ("memory", self.real),
            ("explore", lambda: self.one(0.1, self.real())),
            ("holdout", lambda: self.one(0.2, self.real())),
            ("rewards", lambda: self.one([0, 1], [-1, 1], [self.real(), self.real()])),
            ("missing", self.real),
            ("cycle", lambda: self.one([names[0]], [names[-1], names[0]], [])),
            ("window", lambda: self.one("1s", "999999999w", "7d")),
            ("subjects", self.whole),
            ("ahead", lambda: self.one("1d", "999999999w")),
        ):
            if self.rng.random() < 0.25:
                found[key] = value()
        return found

    def prior(self, count):
        """Return the counts of a fit."""
        rows, wide, seen = self.one(count, count, 1), self.one(1, 3, 24, 1001), self.real()
        names = ("rest_counts", "rest_sums", "streak_counts", "streak_sums")
        return {name: [[seen] * min(wide, 3000 // count + 1)] * rows for name in names}

    def at(self):
        """Return a round to ask for."""
        return self.one(None, None, 0, 5, self.whole(), "2026-12-24", "9998-01-01", "soon")


def put(http, name, spec):
    """Put a rotation; return the status."""
    headers = {"content-type": "application/json"}
    return http.put(f"/v1/rotations/{name}", content=json.dumps(spec), headers=headers)


def use(http, name, mad):
    """Ask and tell a rotation a little, whatever comes of it."""
    for k in range(3):
        at = mad.at()
        body = {"subject": f"s{k}"} | ({} if at is None else {"at": at})
        found = http.post(f"/v1/rotations/{name}/decisions", json=body)
        assert found.status_code in (201, 409, 422, 403, 503), found.text
        if found.status_code == 201:
            told = {"reward": mad.one(0, 0.5, 1, None, mad.real())}
            told = http.post(
                f"/v1/decisions/{found.json()['id']}/reward",
                content=json.dumps(told),
                headers={"content-type": "application/json"},
            )
            assert told.status_code in (201, 409, 422), told.text
    assert http.get(f"/v1/rotations/{name}/log", params={"form": "csv"}).status_code == 200


@pytest.mark.xdist_group("servers")
def test_no_rotation_harms_another(tmp_path):
    """Never down, nobody else's answers changed, and back after a kill with what there was."""
    where = str(tmp_path / "a.sqlite")
    database = Database(where, "NORMAL")
    database.create()
    for name, spec in (("r", CYCLE), ("l", LEARNER)):
        put_rotation(database, name, spec)
    database.close()
    server, mad, made = Server(where, "--synchronous", "NORMAL").start(), Mad(COUNT), 0
    headers = {"authorization": f"Bearer {server.key}"}
    try:
        with httpx2.Client(base_url=server.url, headers=headers, timeout=120) as http:
            for k in range(COUNT):
                name, spec = f"mad{k % 5}", mad.spec()
                found = put(http, name, spec)
                assert found.status_code in (200, 201, 422), (spec, found.text)
                made += found.status_code == 201
                seen = http.get(f"/v1/rotations/{name}").status_code
                assert seen in (200, 404)
                if seen == 200:
                    use(http, name, mad)
                began = time.monotonic()
                found = http.post("/v1/rotations/r/decisions", json={"subject": "ann"})
                assert found.status_code == 201
                assert found.json()["arms"] == [["a", "b", "b", "c"][k % 4]]
                found = http.post("/v1/rotations/l/decisions", json={"subject": "bob"})
                assert (found.status_code, found.json()["round"]) == (201, k)
                assert time.monotonic() - began < 10.0
                assert server.process.poll() is None
            assert http.get("/ready").json() == {"status": "ready"}
        server.kill()
        server.start()
        assert httpx2.get(f"{server.url}/ready").json() == {"status": "ready"}
    finally:
        server.kill()
    assert made
    assert replay_database(where).wrong == []
