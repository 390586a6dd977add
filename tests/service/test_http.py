"""The contract over HTTP: statuses, keys of requests, batches, versions, calendars, logs."""

import copy
import io
import json
from itertools import pairwise

import pyarrow.parquet
import pytest
from service_cases import CYCLE, LEARNER, Access, Limits, Now, ask, running

import lastswitch as ls
from lastswitch.errors import LastSwitchWarning


@pytest.fixture
def now():
    """Give a clock that goes when told to."""
    return Now()


@pytest.fixture
def client(database, now):
    """Give a client of a service with a cycle and a learner."""
    with running(database, {"r": CYCLE, "l": LEARNER}, clock=now) as found:
        yield found


def changed(spec, **serve):
    """Return a rotation with other settings."""
    other = copy.deepcopy(spec)
    other["serve"] |= serve
    return other


def told(client, found, reward):
    """Tell a reward over HTTP."""
    return client.post(f"/v1/decisions/{found['id']}/reward", json={"reward": reward})


def test_a_decision_says_what_was_promised(client):
    """The fields of the contract, and no key of the database."""
    found = ask(client)
    assert found.status_code == 201
    body = found.json()
    assert body["arms"] == ["a"]
    assert body["state"] == [1]
    assert body["propensity"] == 1.0
    assert body["version"] == 1
    assert body["status"] == "played"
    assert body["expires"] == "1970-01-12T14:46:40.000Z"
    assert "digest" not in body


def test_the_same_request_is_the_same_decision(client):
    """A retry moves nothing; the same key for something else is refused."""
    first, again = ask(client, key="k").json(), ask(client, key="k")
    assert again.status_code == 200
    assert again.json() == first
    assert client.get("/v1/rotations/r/subjects/ann").json()["next"] == 1
    other = ask(client, "bob", key="k")
    assert other.status_code == 422
    assert other.json()["type"].endswith("key-reused")
    assert ask(client, "bob", key="k", rotation="l").status_code == 201  # another rotation's key


def test_an_offer_that_stands_answers_everyone_and_every_retry(client):
    """A second ask gets the offer, and its retry too, even after the offer was played."""
    first = ask(client, key="one", confirm="later").json()
    assert ask(client, key="two", confirm="later").json()["id"] == first["id"]
    client.post(f"/v1/decisions/{first['id']}/confirm")
    retried = ask(client, key="two", confirm="later")
    assert (retried.status_code, retried.json()["id"]) == (200, first["id"])
    assert ask(client, key="three").json()["round"] == 1


def test_offers_lapse_and_rewards_are_booked_by_themselves(client, now):
    """Nobody has to ask for it."""
    offer = ask(client, confirm="later").json()
    played = ask(client, "bob").json()
    now.at += 600
    gone = client.post(f"/v1/decisions/{offer['id']}/confirm")
    assert gone.status_code == 410
    now.at += 3600
    client.service.worker._swept = 0.0
    client.service.worker.do([])
    for _ in range(200):  # the sweep is not far
        if client.get(f"/v1/decisions/{played['id']}").json()["status"] == "rewarded":
            break
        client.service.worker._looked = client.service.worker._swept = 0.0
        client.service.worker.do([])
    body = client.get(f"/v1/decisions/{played['id']}").json()
    assert (body["reward"], body["told"]) == (0.0, False)
    late = told(client, played, 1)
    assert late.status_code == 409
    assert "window closed" in late.json()["detail"]
    assert told(client, played, 0).status_code == 200


def test_rewards_count_once(client):
    """First wins, the same again is fine, another is a conflict, nonsense is refused."""
    found = ask(client).json()
    assert told(client, found, 1).status_code == 201
    assert told(client, found, 1.0).status_code == 200
    assert told(client, found, 0).status_code == 409
    assert told(client, found, None).status_code == 409
    assert told(client, {"id": "nobody"}, 1).status_code == 404
    other = ask(client).json()
    for wrong in (1.5, -0.1, "1", [1, 2], True, {}):
        assert told(client, other, wrong).status_code == 422, wrong
    body = '{"reward": NaN}'
    headers = {"content-type": "application/json"}
    path = f"/v1/decisions/{other['id']}/reward"
    assert client.post(path, content=body, headers=headers).status_code == 422
    assert told(client, other, None).json()["status"] == "rewarded"


def test_batches_answer_one_by_one(client):
    """Each entry has its own status."""
    asks = [
        {"subject": "ann", "key": "a"},
        {"subject": "bob", "allowed": ["x"]},
        {"subject": "ann"},
    ]
    found = client.post("/v1/rotations/r/decisions/batch", json={"decisions": asks}).json()
    assert [entry["status"] for entry in found["answers"]] == [201, 422, 201]
    ids = [entry["decision"]["id"] for entry in found["answers"] if "decision" in entry]
    rewards = [{"id": name, "reward": 1} for name in [*ids, ids[0], "nobody"]]
    found = client.post("/v1/decisions/reward", json={"rewards": rewards}).json()
    assert [entry["status"] for entry in found["answers"]] == [201, 201, 200, 404]
    offers = [{"subject": name, "confirm": "later"} for name in ("cay", "dan")]
    found = client.post("/v1/rotations/r/decisions/batch", json={"decisions": offers}).json()
    one, other = (entry["decision"]["id"] for entry in found["answers"])
    for verb, ids, expected in (
        ("confirm", [one, "nobody"], [200, 404]),
        ("cancel", [one, other], [409, 200]),
    ):
        found = client.post(f"/v1/decisions/{verb}", json={"ids": ids}).json()
        assert [entry["status"] for entry in found["answers"]] == expected


def test_a_round_not_asked_is_a_round_of_rest(client):
    """Rounds that a subject skips let its arms recover."""
    ask(client, at=0)
    assert ask(client, at=4).json()["state"] == [3]  # a again, after three rounds of rest
    assert ask(client, at=2).status_code == 409


def test_rounds_follow_the_calendar(database):
    """The present round by the clock; a subject asked once a round; closed hours have none."""
    calendar = {"start": "2024-06-03", "every": "1d", "zone": "Europe/Rome", "skip": "sun"}
    now = Now(1717452000.0)  # Tuesday 2024-06-04 00:00 in Rome
    with running(database, {"r": {**CYCLE, "calendar": calendar}}, clock=now) as client:
        assert ask(client).json()["round"] == 1
        again = ask(client)
        assert again.status_code == 409
        assert "Wednesday 2024-06-05" in again.json()["detail"]
        now.at += 2 * 86400
        assert ask(client, confirm="later").json()["round"] == 3
        now.at += 3 * 86400  # Sunday
        closed = ask(client)
        assert (closed.status_code, closed.json()["type"][-8:]) == (409, "no-round")
        assert ask(client, at="2024-06-10 09:00").json()["round"] == 6
        assert ask(client, "bob", at="soon").status_code == 409


def test_versions_add_and_retire_arms_and_old_decisions_keep_theirs(client):
    """Arms keep their numbers, a new one starts rested, a retired one is not played."""
    old = ask(client, confirm="later").json()
    spec = copy.deepcopy(CYCLE)
    spec["arms"] = [*spec["arms"][1:], {"name": "d", "rest": [0.9], "streak": [0.9]}]
    spec["serve"]["cycle"] = ["d", "b"]
    assert client.put("/v1/rotations/r", json=spec).status_code == 201
    assert client.put("/v1/rotations/r", json=spec).status_code == 200
    found = client.get("/v1/rotations/r").json()
    assert (found["version"], found["arms"], found["active"]) == (2, [*"abcd"], [*"bcd"])
    assert client.get("/v1/rotations/r", params={"version": 1}).json()["active"] == [*"abc"]
    kept = client.post(f"/v1/decisions/{old['id']}/confirm").json()
    assert (kept["version"], kept["arms"]) == (1, ["a"])
    new = ask(client, at=2).json()
    assert (new["version"], new["arms"], new["state"]) == (2, ["d"], [2])
    assert ask(client, allowed=["a"]).status_code == 409


def test_a_learner_keeps_what_it_heard_when_arms_are_added(client):
    """A new version's learner begins with what the old one was told."""
    for _ in range(5):
        told(client, ask(client, rotation="l").json(), 1)
    spec = copy.deepcopy(LEARNER)
    spec["arms"].append({"name": "poll"})
    client.put("/v1/rotations/l", json=spec)
    learner = client.service.worker.rotations.decider("l").learner
    assert learner.n_arms == 4
    assert learner.counts.sum() == 5


def test_rules_are_respected_by_every_decider(database):
    """Hard rules hold for learners, plans, cycles and holdouts alike."""
    rules = [{"rule": "apart", "who": "a", "rounds": 3}, {"rule": "apart", "who": "b", "rounds": 2}]
    specs = {
        decide: {**changed(CYCLE, decide=decide, holdout=0.3, explore=0.2, lookahead=6)}
        for decide in ("learner", "plan", "cycle")
    }
    for spec in specs.values():
        spec["rules"] = rules
    with running(database, specs) as client:
        for decide in specs:
            for subject in ("ann", "bob", "cay", "dan"):
                arms = [ask(client, subject, rotation=decide).json()["arms"] for _ in range(12)]
                played = [name for (name,) in arms]
                gaps = [k for k, name in enumerate(played) if name == "a"]
                assert all(b - a >= 3 for a, b in pairwise(gaps)), played
                assert "bb" not in "".join(played)


def test_a_plan_plays_what_the_planner_plans(database):
    """Several plays a round and silence included; a list of rewards answers several arms."""
    spec = changed(CYCLE, decide="plan", lookahead=6)
    spec |= {"plays": [0, 2], "silence": 0.3}
    with running(database, {"r": spec}) as client:
        bandit = client.service.worker.rotations.decider("r").version.bandit
        best = ls.plan_block(bandit, 6, gap=0.01).rounds
        assert ask(client).json()["arms"] == [bandit.names[arm] for arm in best[0]]
        found = [ask(client).json() for _ in range(6)]
        two = next(entry for entry in found if len(entry["arms"]) == 2)
        assert told(client, two, 1).status_code == 422
        assert told(client, two, [1, None]).json()["reward"] == [1.0, None]
        silent = [entry for entry in found if not entry["arms"]]
        assert all(told(client, entry, 1).status_code == 422 for entry in silent)
        plan = client.get("/v1/rotations/r/plan", params={"subject": "ann"}).json()
        assert len(plan["rounds"]) == 6


def test_holdouts_and_exploration_have_the_shares_they_say(database):
    """Propensities are those of the draws, which anyone can make again."""
    spec = changed(CYCLE, holdout=0.3, holdout_by="decision", explore=0.2)
    with running(database, {"r": spec}) as client:
        asks = {"decisions": [{"subject": f"s{k}"} for k in range(900)]}
        answers = client.post("/v1/rotations/r/decisions/batch", json=asks).json()["answers"]
    found = [entry["decision"] for entry in answers]
    share = {by: sum(d["by"] == by for d in found) / 900 for by in ("holdout", "explore", "policy")}
    assert share["holdout"] == pytest.approx(0.3, abs=0.07)
    assert share["explore"] == pytest.approx(0.2, abs=0.06)
    # In round 0 the cycle and the holdout both play a; the rest is drawn evenly.
    assert {tuple(d["arms"]): round(d["propensity"], 6) for d in found} == {
        ("a",): round(0.8 + 0.2 / 3, 6),
        ("b",): round(0.2 / 3, 6),
        ("c",): round(0.2 / 3, 6),
    }


def test_a_held_out_subject_stays_held_out(database):
    """By subject, the holdout is the same for every decision; nobody else is held out."""
    spec = changed(CYCLE, holdout=0.5)
    with running(database, {"r": spec}) as client:
        by = {s: {ask(client, s).json()["by"] for _ in range(4)} for s in map(str, range(12))}
    assert {frozenset(parts) for parts in by.values()} == {
        frozenset({"holdout"}),
        frozenset({"policy"}),
    }


def test_shadow_mode_plays_the_holdout_and_notes_the_rest(database):
    """What would have been decided is in the journal, and nobody is shown it."""
    spec = changed(CYCLE, shadow=True, holdout_plays=["c"])
    with running(database, {"r": spec}) as client:
        found = ask(client).json()
        assert (found["arms"], found["would"], found["by"]) == (["c"], ["a"], "shadow")
        line = json.loads(client.get("/v1/rotations/r/journal").text)
        assert (line["arms"], line["would"]) == (["c"], ["a"])


def test_the_log_is_one_that_fit_reads(client, tmp_path):
    """As Parquet, CSV and JSON lines, without a further option; propensities included."""
    asks = {"decisions": [{"subject": f"s{k % 6}"} for k in range(120)]}
    answers = client.post("/v1/rotations/l/decisions/batch", json=asks).json()["answers"]
    ids = [entry["decision"]["id"] for entry in answers]
    rewards = [{"id": name, "reward": k % 2} for k, name in enumerate(ids) if k % 10]
    client.post("/v1/decisions/reward", json={"rewards": rewards})
    for form in ("parquet", "csv", "jsonl"):
        found = client.get("/v1/rotations/l/log", params={"form": form})
        file = tmp_path / f"log.{form}"
        file.write_bytes(found.content)
        with pytest.warns(LastSwitchWarning, match="its reward does not count"):
            fit = ls.fit_curves(file, min_events=3)
        assert {"jazz", "talk", "news"} >= set(fit.bandit.names)
        assert fit.counts.events.sum() == 108
    table = pyarrow.parquet.read_table(io.BytesIO(client.get("/v1/rotations/l/log").content))
    assert table.num_rows == 120
    assert table["reward"].null_count == 12
    assert set(table["propensity"].to_pylist()) == {1.0}


def test_the_journal_can_be_read_on(client):
    """In pages, oldest first, each line a JSON object."""
    for _ in range(5):
        ask(client)
    lines = [json.loads(t) for t in client.get("/v1/rotations/r/journal").text.splitlines()]
    assert [line["round"] for line in lines] == [0, 1, 2, 3, 4]
    rest = client.get("/v1/rotations/r/journal", params={"after": lines[2]["seq"], "limit": 1})
    assert json.loads(rest.text) == lines[3]


def test_the_journal_is_the_same_as_parquet(client):
    """Every line, field by field."""
    for k in range(4):
        found = ask(client, confirm="now" if k % 2 else "later").json()
        if k % 2:
            told(client, found, 1)
    lines = [json.loads(t) for t in client.get("/v1/rotations/r/journal").text.splitlines()]
    found = client.get("/v1/rotations/r/journal", params={"form": "parquet"})
    assert pyarrow.parquet.read_table(io.BytesIO(found.content)).to_pylist() == lines
    assert {line["kind"] for line in lines} == {"offer", "play", "reward"}


def test_no_more_subjects_than_allowed(database):
    """Those known go on."""
    access = Access(hosts=("testserver",), limits=Limits(subjects=2))
    with running(database, {"r": CYCLE}, access=access) as client:
        client.service.worker._sweep()
        assert [ask(client, name).status_code for name in "abca"] == [201, 201, 403, 201]


def test_what_goes_wrong_is_said_in_our_words(client):
    """Problem details everywhere: type, title, status, detail."""
    for method, path, status in (
        ("get", "/v1/nothing", 404),
        ("get", "/v1/rotations/none", 404),
        ("get", "/v1/rotations/r/subjects/none", 404),
        ("get", "/v1/decisions/none", 404),
        ("delete", "/v1/rotations/r", 405),
        ("get", "/v1/rotations/r/journal?after=x", 422),
        ("get", "/v1/rotations/r/plan", 422),
    ):
        found = client.request(method, path)
        assert found.status_code == status, path
        assert found.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail"} <= set(found.json())
        assert found.headers["x-request-id"]


def test_health_readiness_and_figures(client):
    """Health and readiness are open; figures need a key."""
    ask(client)
    assert client.get("/health").json() == {"status": "up"}
    assert client.get("/ready").json() == {"status": "ready"}
    figures = client.get("/metrics").text
    assert 'lastswitch_operations_total{what="decisions"} 1.0' in figures
    assert 'route="/v1/rotations/{name}/decisions"' in figures
    assert client.get("/metrics", headers={"authorization": ""}).status_code == 401


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ({}, "arms"),
        ({"arms": [{"name": "a"}, {"name": "a"}]}, "two arms"),
        ({"arms": [{"name": "a"}], "serve": {"decide": "guess"}}, "decide"),
        ({"arms": [{"name": "a"}], "serve": {"decide": "plan"}}, "does not say what it pays"),
        ({"arms": [{"name": "a"}], "serve": {"window": "5 parsecs"}}, "window"),
        ({"arms": [{"name": "a"}], "serve": {"holdout": 2}}, "holdout: input should be less"),
        ({"arms": [{"name": "a"}], "plays": 2, "groups": {}}, "plays"),
        ({"arms": [{"name": "a"}], "calendar": {"start": "never"}}, "calendar"),
        (
            {"arms": [{"name": "a"}], "rules": [{"rule": "at_most", "who": "a", "plays": 3}]},
            "never ends",
        ),
        (
            {"arms": [{"name": "a"}], "rules": [{"rule": "never", "who": "a", "when": "sun"}]},
            "no [calendar]",
        ),
    ],
)
def test_rotations_that_make_no_sense_are_refused(client, spec, word):
    """Before anything is stored, in one sentence."""
    found = client.put("/v1/rotations/new", json=spec)
    assert found.status_code == 422
    assert word in found.json()["detail"]
    assert client.get("/v1/rotations/new").status_code == 404


def test_dated_rules_hold_across_the_periods_they_name(database):
    """At most twice a day, by the clock, for a learner; the next day begins anew."""
    calendar = {"start": "2024-06-03", "every": "6h"}
    rules = [{"rule": "at_most", "who": "a", "plays": 1, "per": "day"}]
    rules.append({"rule": "never", "who": "b", "when": "sun"})
    spec = {**changed(CYCLE, decide="learner"), "calendar": calendar, "rules": rules}
    with running(database, {"r": spec}) as client:
        assert client.service.worker.rotations.decider("r").version.look_back == 5
        asks = [{"subject": "ann", "at": number, "key": str(number)} for number in range(28)]
        found = client.post("/v1/rotations/r/decisions/batch", json={"decisions": asks}).json()
    played = [entry["decision"]["arms"][0] for entry in found["answers"]]
    days = [played[k : k + 4] for k in range(0, 28, 4)]
    assert all(day.count("a") <= 1 for day in days)
    assert any("b" in day for day in days)
    assert "b" not in days[6]
