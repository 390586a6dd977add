"""Rotations that cannot be made: refused before they are stored, set aside where they are."""

import copy
import json
import os
import signal
import threading
import time

import httpx2
import pytest
from service_cases import CYCLE, LEARNER, Database, Server, ask, running
from sqlalchemy import insert, select

from lastswitch.errors import ServiceError
from lastswitch.service import rotations as rotations_module
from lastswitch.service import tables
from lastswitch.service.replaying import replay_database
from lastswitch.service.rotation import make_version
from lastswitch.service.trial import Trial

ARMS = [{"name": name, "rest": [0.5], "streak": [0.1]} for name in ("a", "b")]
INFEASIBLE = {
    "arms": ARMS,
    "rules": [{"rule": "at_most", "who": ["a", "b"], "plays": 0, "within": 2}],
    "serve": {"decide": "cycle"},
}


def many(count):
    """Return arms with curves."""
    return [
        {"name": f"a{k}", "rest": [0.1, 0.9 * k / count], "streak": [0.0]} for k in range(count)
    ]


def prior(rows, wide, count):
    """Return the counts of a fit that saw the same everywhere."""
    table = [[count] * wide] * rows
    half = [[count // 2] * wide] * rows
    return {"rest_counts": table, "rest_sums": half, "streak_counts": table, "streak_sums": half}


def versions(database, name):
    """Return how many versions of a rotation are stored."""
    query = select(tables.version).where(tables.version.c.rotation == name)
    with database.reading() as connection:
        return len(connection.execute(query).all())


REFUSED = {
    "no cycle keeps the rules": (INFEASIBLE, "cannot be made"),
    "a cycle under rules of too many states": (
        {
            "arms": many(200),
            "plays": [0, 1],
            "serve": {"decide": "cycle", "lookahead": 1000, "time_limit": 10},
        },
        "lower lookahead to 25",
    ),
    "counts beyond what kernels carry": (
        {"arms": LEARNER["arms"], "serve": {"prior": prior(3, 3, 1e16)}},
        "at most 1e+09",
    ),
    "a prior of a plan": (
        {"arms": ARMS, "serve": {"decide": "plan", "prior": prior(2, 3, 1e16)}},
        "at most 1e+09",
    ),
    "a far round": (
        {**LEARNER, "rules": [{"rule": "never", "who": "jazz", "rounds": [134217728]}]},
        "rounds up to 100,000",
    ),
    "a long look back": (
        {**LEARNER, "rules": [{"rule": "at_most", "who": "jazz", "plays": 1, "every": 10**9}]},
        "keeps 1,000",
    ),
    "a silence of 401 digits": ({"arms": ARMS, "silence": 10**400}, "silence must be a number"),
    "a memory of 401 digits": ({**LEARNER, "serve": {"memory": 10**400}}, "memory"),
    "rewards of 401 digits": ({**LEARNER, "serve": {"rewards": [0, 10**400]}}, "rewards"),
}
MALFORMED = [
    0, -1, 1e300, "much", [1], {}, {"rest_counts": 1},
    dict.fromkeys(prior(1, 1, 1), 1),
    {name: [] for name in prior(1, 1, 1)},
    {name: [[1], [2, 3]] for name in prior(1, 1, 1)},
    {name: [["x"]] for name in prior(1, 1, 1)},
    prior(4, 3, 1.0), prior(3, 2000, 1.0), prior(3, 3, -1.0), prior(3, 3, 10**400),
    {**prior(3, 3, 1.0), "rest_sums": [[9.0] * 3] * 3},
]  # fmt: skip


@pytest.fixture
def client(database):
    """Give a client of a service with a cycle and a learner."""
    with running(database, {"r": CYCLE, "l": LEARNER}) as found:
        yield found


def test_what_cannot_be_made_is_refused_and_not_stored(client):
    """In words, for the one who put it; everybody else goes on, and so does a new start."""
    before = [ask(client, "ann").json()["round"], ask(client, "ann", rotation="l").json()["round"]]
    assert before == [0, 0]
    for name, (spec, words) in REFUSED.items():
        found = client.put("/v1/rotations/bad", json=spec)
        assert found.status_code == 422, (name, found.text)
        assert words in found.json()["detail"], name
        assert versions(client.service.database, "bad") == 0, name
    assert ask(client, "ann").json()["round"] == 1
    assert client.put("/v1/rotations/good", json=CYCLE).status_code == 201
    assert client.get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize("decide", ["learner", "plan"])
def test_a_malformed_prior_is_refused(decide):
    """Whatever shape it has, and whoever decides; what a fit counts is taken."""
    arms = [{**arm, "rest": [0.5], "streak": [0.1]} for arm in LEARNER["arms"]]
    for given in MALFORMED:
        with pytest.raises(ServiceError, match=r"prior|cannot be read") as refused:
            _made({"arms": arms, "serve": {"decide": decide, "prior": given}})
        assert len(str(refused.value)) < 500
    for given in (5, 0.5, prior(3, 3, 1e9), prior(2, 3, 1.0)):
        assert _made({"arms": arms, "serve": {"decide": decide, "prior": given}}) is not None


def _made(spec):
    try:
        return make_version("x", 1, spec)
    except ServiceError:
        raise
    except ValueError as error:  # of the learner's own checks
        raise ServiceError(str(error)) from error


def test_a_prior_s_rows_are_the_arms_as_listed():
    """A new version that lists other arms than before does not mix them up."""
    table = [[1.0], [2.0]]
    given = dict.fromkeys(("rest_counts", "streak_counts"), table)
    given |= {name: [[0.0], [0.0]] for name in ("rest_sums", "streak_sums")}
    spec = {"arms": [{"name": "jazz"}, {"name": "talk"}], "serve": {"prior": given}}
    found = rotations_module.make_version("x", 2, spec, before=["news", "talk"])
    from lastswitch.service.rotation import prior_of

    assert found.arms == ("news", "talk", "jazz")
    assert prior_of(found).rest_counts.tolist() == [[0.0], [2.0], [1.0]]


@pytest.fixture
def aside(database):
    """Give a client of a service that finds a rotation that cannot be made, beside good ones."""
    database.create()
    row = {"rotation": "bad", "number": 1, "at": 0.0, "arms": '["a", "b"]'}
    with database.writing() as connection:
        connection.execute(insert(tables.rotation), [{"name": "bad", "at": 0.0}])
        spec = json.dumps(INFEASIBLE)
        connection.execute(insert(tables.version), [{**row, "spec": spec}])
    with running(database, {"r": CYCLE, "l": LEARNER}) as found:
        yield found


def test_a_rotation_that_cannot_be_made_is_set_aside(aside):
    """It alone is answered with 503, and said to be so; a version that can be made heals it."""
    found = ask(aside, rotation="bad")
    assert (found.status_code, found.json()["type"][-9:]) == (503, "set-aside")
    assert ask(aside).status_code == 201
    assert aside.get("/ready").json() == {"status": "ready", "aside": 1}
    assert "lastswitch_rotations_aside 1.0" in aside.get("/metrics").text
    assert aside.put("/v1/rotations/new", json=CYCLE).status_code == 201
    assert aside.get("/v1/rotations/bad").status_code == 503
    assert aside.put("/v1/rotations/bad", json=CYCLE).status_code == 201
    assert ask(aside, rotation="bad").status_code == 201
    assert aside.get("/ready").json() == {"status": "ready"}
    assert "lastswitch_rotations_aside 0.0" in aside.get("/metrics").text


def test_what_is_set_aside_holds_nobody_up(database):
    """Windows of others close, snapshots are written, and what it was owed waits for it."""
    short = copy.deepcopy(CYCLE)
    short["serve"]["window"] = "1s"
    with running(database, {"r": short, "bad": short, "l": LEARNER}) as client:
        ask(client, rotation="bad")
        ask(client, rotation="r")
        worker = client.service.worker
        worker.rotations._set_aside("bad", 1, ValueError("made up"))
        time.sleep(1.1)
        worker._swept = 0.0
        for _ in range(100):
            worker.do([])
            status = client.get("/v1/rotations/r/journal").text.count('"reward"')
            if status > 1:
                break
            time.sleep(0.05)
        kinds = [
            json.loads(x)["kind"]
            for x in client.get("/v1/rotations/r/journal").text.split("\n")
            if x
        ]
        assert kinds == ["play", "reward"]
        assert worker.rotations.snapshot(force=True)
        assert client.put("/v1/rotations/bad", json=CYCLE).status_code == 201
        assert ask(client, rotation="bad").json()["round"] == 1
    assert replay_database(database.url.database).agrees


def narrowed(spec, low, high):
    """Return a rotation of other rewards."""
    other = copy.deepcopy(spec)
    other["serve"] |= {"rewards": [low, high], "missing": None}
    return other


def test_rewards_that_a_new_version_narrows(database):
    """Old decisions are told by their own version; beliefs, a new start and the check agree."""
    with running(database, {"r": LEARNER, "other": LEARNER}) as client:
        first = [ask(client, f"s{k}").json() for k in range(4)]
        told = client.post(f"/v1/decisions/{first[0]['id']}/reward", json={"reward": 0.75})
        assert told.status_code == 201
        assert client.put("/v1/rotations/r", json=narrowed(LEARNER, 0, 0.5)).status_code == 201
        for k, reward in ((1, 1.0), (2, 0.25)):
            told = client.post(f"/v1/decisions/{first[k]['id']}/reward", json={"reward": reward})
            assert told.status_code == 201, told.text
        new = ask(client, "new").json()
        refused = client.post(f"/v1/decisions/{new['id']}/reward", json={"reward": 1.0})
        assert refused.status_code == 422
        assert "between 0 and 0.5" in refused.json()["detail"]
        rotations = client.service.worker.rotations
        heard = rotations.decider("r").learner.news()
        # .75 and 1. are the most that is known now, .25 is half of it; two are out.
        assert sum(map(sum, heard["sums"])) == pytest.approx(2.5)
        assert sum(map(sum, heard["pending"])) == 2.0
        again = rotations_module.Rotations(database)
        again.start()
        assert again.decider("r").learner.news() == heard
        assert ask(client, "ann", rotation="other").status_code == 201
    assert replay_database(database.url.database).agrees
    again = rotations_module.Rotations(database)  # now from the snapshot
    again.start()
    assert again.decider("r").learner.news() == heard


def test_a_learner_that_comes_later_hears_what_was_played_before(database):
    """A plan that becomes a learner misses nothing that this worker committed itself."""
    arms = [{**arm, "rest": [0.5], "streak": [0.1]} for arm in LEARNER["arms"]]
    planned = {"arms": arms, "serve": {"decide": "plan"}}
    with running(database, {"r": planned}) as client:
        found = [ask(client, f"s{k}").json() for k in range(3)]
        client.post(f"/v1/decisions/{found[0]['id']}/reward", json={"reward": 1})
        learned = {"arms": arms, "serve": {"decide": "learner"}}
        assert client.put("/v1/rotations/r", json=learned).status_code == 201
        client.service.worker.do([])
        heard = client.service.worker.rotations.decider("r").learner.news()
        assert (sum(map(sum, heard["counts"])), sum(map(sum, heard["pending"]))) == (1.0, 2.0)


def test_versions_are_not_remembered_for_ever(database):
    """Old ones are read again when somebody asks for them."""
    with running(database, {"r": CYCLE}) as client:
        old = ask(client).json()
        for k in range(rotations_module._REMEMBERED + 5):
            spec = copy.deepcopy(CYCLE)
            spec["serve"]["stand"] = f"{k + 1}h"
            assert client.put("/v1/rotations/r", json=spec).status_code == 201
            client.get("/v1/rotations/r", params={"version": k + 1})
        assert len(client.service.worker.rotations._earlier) == rotations_module._REMEMBERED
        assert client.get("/v1/rotations/r", params={"version": 1}).json()["version"] == 1
        told = client.post(f"/v1/decisions/{old['id']}/reward", json={"reward": 1})
        assert (told.status_code, told.json()["version"]) == (201, 1)


@pytest.mark.parametrize(
    ("seconds", "memory", "words"), [(0.3, 2 << 30, "seconds"), (20, 8 << 20, "MB")]
)
def test_a_trial_has_a_budget(seconds, memory, words):
    """What takes longer, or more, is refused; the next is tried in a fresh process."""
    spec = {"arms": many(40), "serve": {"decide": "cycle", "lookahead": 120}, "plays": [0, 1]}
    version = make_version("x", 1, spec)
    trial = Trial(seconds, memory)
    try:
        with pytest.raises(ServiceError, match=words):
            trial(version)
        assert trial._process is None
    finally:
        trial.end()


def test_a_trial_that_crashes_is_no_crash_of_ours():
    """It is said what happened, and the next version is tried in a fresh process."""
    fine = make_version("x", 1, {"arms": ARMS, "serve": {"decide": "plan"}})
    trial = Trial()
    try:
        trial(fine)
        process = trial._process

        def crash():
            process.send_signal(signal.SIGSEGV)
            process.send_signal(signal.SIGCONT)

        process.send_signal(signal.SIGSTOP)  # so that it cannot answer before it crashes
        threading.Timer(0.3, crash).start()
        with pytest.raises(ServiceError, match=r"crashed \(SIGSEGV\)"):
            trial(fine)
        trial(fine)
        os.kill(trial._process.pid, signal.SIGKILL)  # between two versions, it is not to blame
        trial._process.wait()
        trial(fine)
    finally:
        trial.end()


@pytest.mark.xdist_group("servers")
def test_a_server_starts_again_whatever_was_put(tmp_path):
    """Refused rotations leave nothing behind; a server that was killed comes back."""
    database = Database(tmp_path / "a.sqlite")
    database.create()
    database.close()
    server = Server(str(tmp_path / "a.sqlite"))
    try:
        server.start()
        headers = {"authorization": f"Bearer {server.key}"}
        with httpx2.Client(base_url=server.url, headers=headers, timeout=60) as http:
            assert http.put("/v1/rotations/good", json=CYCLE).status_code == 201
            for spec in (INFEASIBLE, REFUSED["counts beyond what kernels carry"][0]):
                assert http.put("/v1/rotations/bad", json=spec).status_code == 422
            server.kill()
            server.start()
            assert ask(http, rotation="good").status_code == 201
    finally:
        server.kill()
