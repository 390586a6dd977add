"""What the studio's page asks for: drafts, fits, and how a rotation is doing."""

import icalendar
import pytest
from service_cases import CYCLE, Access, ask, running

from lastswitch._utils.random import stream
from lastswitch.model.files import load_bandit
from lastswitch.planning import plan_block
from lastswitch.service.client import Client
from lastswitch.service.demo import listen, station
from lastswitch.service.rotation import make_version
from lastswitch.service.watching import Told, gain

WEEK = {
    "arms": [
        {"name": "jazz", "rest": [0.2, 0.5, 0.9], "streak": [0.1]},
        {"name": "talk", "rest": [0.4], "streak": [0.4]},
    ],
    "calendar": {"start": "2024-06-03"},
    "rules": [{"rule": "at_least", "who": "talk", "plays": 2, "per": "week"}],
}


@pytest.fixture
def client(database):
    """Give a client of a service with one rotation."""
    with running(database, {"r": CYCLE}) as found:
        yield found


def draft(**more):
    """Return the body of a request about a draft."""
    return {"spec": WEEK, "length": 7, **more}


def test_plan_is_the_library_s(client):
    """The page shows what plan_block returns, with its certificate and dates."""
    found = client.post("/studio/plan", json=draft()).json()
    version = make_version("draft", 1, WEEK)
    rules = version.calendar.resolve(version.bandit.rules, 7)
    plan = plan_block(version.bandit, 7, rules=rules)
    assert (found["value"], found["optimal"]) == (pytest.approx(plan.value), True)
    assert found["rules"] == ["talk: at least 2 plays in every week"]
    assert [entry["day"] for entry in found["rounds"][:2]] == ["2024-06-03", "2024-06-04"]


def test_plan_begins_where_asked(client):
    """Another first day moves the dates and nothing else."""
    found = client.post("/studio/plan", json=draft(begin="2024-06-10")).json()
    assert found["rounds"][0]["day"] == "2024-06-10"


def test_costs_of_rules(client):
    """Every rule says what it costs; a rule that cannot bind is odd."""
    spec = {
        **WEEK,
        "rules": [*WEEK["rules"], {"rule": "at_most", "who": "talk", "plays": 9, "within": 7}],
    }
    found = client.post("/studio/explain", json=draft(spec=spec)).json()
    assert "cost" in found["costs"][0]
    assert "can never bind" in found["costs"][1]
    said = "'talk: at most 9 plays in any 7 rounds' can never bind: no schedule breaks it."
    assert found["odd"] == [said]


def test_conflict_is_named(client):
    """Rules that cannot hold together are named, and others are not."""
    more = [{"rule": "at_most", "who": "jazz", "plays": 9, "within": 7}]
    clash = [{"rule": "never", "who": "talk", "when": "mon-sun"}]
    found = client.post(
        "/studio/plan", json=draft(spec={**WEEK, "rules": WEEK["rules"] + more + clash})
    )
    assert found.json()["conflicting"] == [0, 2]
    assert "cannot hold together" in found.json()["conflict"]
    fine = client.post("/studio/plan", json=draft(spec={**WEEK, "rules": WEEK["rules"] + more}))
    assert "conflict" not in fine.json()


def test_files(client, tmp_path):
    """TOML is read back as the same rotation, ICS and CSV hold the plan shown."""
    shown = client.post("/studio/plan", json=draft()).json()
    toml = client.post("/studio/file?form=toml", json=draft(name="radio"))
    assert "radio.toml" in toml.headers["content-disposition"]
    (tmp_path / "radio.toml").write_text(toml.text)
    assert load_bandit(tmp_path / "radio.toml") == make_version("draft", 1, WEEK).bandit
    feed = icalendar.Calendar.from_ical(client.post("/studio/file?form=ics", json=draft()).content)
    names = [shown["names"][entry["arms"][0]] for entry in shown["rounds"]]
    assert [str(event["summary"]) for event in feed.walk("VEVENT")] == names
    rows = client.post("/studio/file?form=csv", json=draft()).text.splitlines()[1:]
    assert [row.rpartition(",")[2] for row in rows] == names


def test_feed_needs_dates(client):
    """Without a calendar a feed is refused in words, and a table numbers the rounds."""
    spec = {"arms": WEEK["arms"]}
    refused = client.post("/studio/file?form=ics", json=draft(spec=spec))
    assert (refused.status_code, "needs dates" in refused.json()["detail"]) == (422, True)
    table = client.post("/studio/file?form=csv", json=draft(spec=spec)).text
    assert table.splitlines()[0] == "round,arm"


def test_formulas_stay_text(client):
    """An arm's name that a spreadsheet would run is written so that it does not."""
    spec = {**WEEK, "rules": [], "arms": [{"name": "=1+1", "rest": [0.5], "streak": [0.5]}]}
    table = client.post("/studio/file?form=csv", json=draft(spec=spec)).text
    assert ",=1+1" not in table


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/studio/plan", {"spec": WEEK, "length": 10_000}, "less than or equal to 366"),
        ("/studio/open", {"text": "arms = 3"}, "needs arms"),
        ("/studio/open", {}, "nothing to open"),
    ],
)
def test_nonsense_is_refused(client, path, body, words):
    """What cannot be used is a problem in words, not a failure."""
    found = client.post(path, json=body)
    assert (found.status_code, words in found.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/studio/plan", {"spec": {}, "length": 7}, "needs arms"),
        ("/studio/rule", {"rule": {"rule": "at_mots"}}, "did you mean 'at_most'"),
    ],
)
def test_half_written_is_no_failure(client, path, body, words):
    """While one writes, what is wrong so far is an answer like others."""
    found = client.post(path, json=body)
    assert (found.status_code, words in found.json()["wrong"]) == (200, True)


def test_starters_open_as_tables(client):
    """Every file to start from can be edited and planned."""
    for name in client.get("/studio/rotations").json()["starters"]:
        spec = client.get(f"/studio/starters/{name}").json()
        assert all(set(arm) <= {"name", "rest", "streak", "tail"} for arm in spec["arms"])
        assert client.post("/studio/plan", json={"spec": spec, "length": 7}).status_code == 200


def test_fit_makes_a_rotation(client):
    """A log gives curves, words and a rotation that the service takes as it is."""
    log = client.get("/studio/example").content
    found = client.post("/studio/fit", content=log, headers={"content-type": "text/csv"}).json()
    assert found["summary"].startswith("3,600 plays of 7 arms")
    assert len(found["arms"]) == len(found["spec"]["arms"]) == 7
    assert client.put("/v1/rotations/fitted", json=found["spec"]).status_code == 201
    assert ask(client, rotation="fitted").status_code == 201


def test_fit_refuses_in_words(client):
    """A log without its columns, and a body that is not CSV, are refused."""
    csv = {"content-type": "text/csv"}
    found = client.post("/studio/fit", content="a,b\n1,2\n", headers=csv)
    assert (found.status_code, "subject" in found.json()["detail"]) == (422, True)
    assert client.post("/studio/fit", json={}).status_code == 415


def test_a_key_is_needed_wherever_one_sits(database):
    """Near or far, whatever a proxy says or leaves out; a key sees its own rotation only."""
    specs = {"r": CYCLE, "other": CYCLE}
    with running(database, specs, rotation="r", writes=False) as client:
        names = [entry["name"] for entry in client.get("/studio/rotations").json()["rotations"]]
        assert names == ["r"]
        assert client.post("/studio/plan", json=draft()).status_code == 200
        assert client.get("/v1/rotations/other/watch").status_code == 404
        del client.headers["authorization"]
        for headers in ({}, {"x-forwarded-for": "127.0.0.1"}, {"forwarded": "for=127.0.0.1"}):
            assert client.get("/studio/rotations", headers=headers).status_code == 401
            assert client.post("/studio/plan", json=draft(), headers=headers).status_code == 401
            assert client.get("/v1/rotations/r/watch", headers=headers).status_code == 401


def test_without_keys_everybody_does_everything(database):
    """Where that was said, and still no page of another site."""
    access = Access(hosts=("testserver",), keys=False)
    with running(database, {"r": CYCLE}, access=access) as client:
        del client.headers["authorization"]
        assert client.get("/studio/rotations").json()["rotations"][0]["name"] == "r"
        assert ask(client).status_code == 201
        assert client.get("/health").json() == {"status": "up", "keys": False}
        assert client.put("/v1/rotations/r", json=CYCLE).status_code == 200
        assert client.get("/v1/rotations", headers={"origin": "http://evil"}).status_code == 403


def test_watching(client):
    """Figures follow the journal: plays, rewards, those still out, shares."""
    ids = [ask(client, f"s{k % 4}").json()["id"] for k in range(16)]
    for name in ids[:12]:
        client.post(f"/v1/decisions/{name}/reward", json={"reward": 0.5})
    found = client.get("/v1/rotations/r/watch").json()
    assert found["decisions"] == 16
    assert {name: found["rewards"][name] for name in ("told", "out", "missing")} == {
        "told": 12,
        "out": 4,
        "missing": 0,
    }
    assert sum(entry["share"] for entry in found["shares"]) == pytest.approx(1.0)
    assert found["gain"]["policy"]["mean"] == pytest.approx(0.5)
    assert found["gain"]["difference"] is None


def told(subject, by, paid):
    """Return a line that tells a reward."""
    return Told(0.0, "reward", "", subject, 0, [0], by, paid, told=True)


def test_gain_counts_subjects():
    """A subject's many rounds are one: the interval is of subjects, not of rounds."""
    few = [told(f"s{k}", "policy" if k % 2 else "holdout", float(k % 3 == 0)) for k in range(8)]
    once, often = gain(few, paired=False), gain(few * 50, paired=False)
    assert once["difference"] == often["difference"]
    assert often["policy"]["rewards"] == 50 * once["policy"]["rewards"]


def test_gain_is_found_where_there_is_one():
    """A clear difference has an interval above nothing; none has one around it."""
    both = [(f"s{k}", part) for k in range(12) for part in ("policy", "holdout")]
    noise = stream(1, "gain").normal(0.0, 0.05, len(both))
    better = [
        told(s, by, 0.5 * (by == "policy") + e) for (s, by), e in zip(both, noise, strict=True)
    ]
    same = [told(s, by, e) for (s, by), e in zip(both, noise, strict=True)]
    for paired in (True, False):
        assert gain(better, paired=paired)["difference"]["low"] > 0.3
        alike = gain(same, paired=paired)["difference"]
        assert alike["low"] <= 0.0 <= alike["high"]


def test_demo_listeners(database):
    """The demo's listeners hear, pay mostly, and tell the learner something."""
    radio = make_version("radio", 1, {"arms": WEEK["arms"]}).bandit
    with running(database, {"station": station(radio)}) as client:
        wire = client._transport
        with Client("http://testserver", client.secret, "station", transport=wire) as listeners:
            rng = stream(1, "demo")
            for _ in range(3):
                listen(radio, listeners, rng)
        found = client.get("/v1/rotations/station/watch").json()
        assert found["decisions"] > 40
        assert 0 < found["rewards"]["out"] < found["rewards"]["told"]
        assert any(state["seen"] for entry in found["beliefs"] for state in entry["states"])


@pytest.mark.parametrize("paired", [True, False])
def test_gain_does_not_take_equal_means_for_certainty(paired):
    """Where nothing varies, nothing is known of how sure a difference is."""
    lines = [told(f"s{k}", by, 1.0) for k in range(3) for by in ("policy", "holdout")]
    assert gain(lines, paired=paired)["difference"] is None


def test_example_is_a_log(client):
    """The example has the columns a log has."""
    assert client.get("/studio/example").text.startswith("subject,time,arm,reward")
