"""One request, one subject or one clock that goes wrong does not touch the others."""

import copy
import json
import threading
import time
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_cases import CYCLE, LEARNER, Now, ask, running, worker_on

from lastswitch.calendars.calendar import Calendar
from lastswitch.errors import CalendarError
from lastswitch.service.clock import BELIEVED, Clock, SteadyClock, TooFarError
from lastswitch.service.contract import FARTHEST
from lastswitch.service.operations import Ask, Tell
from lastswitch.service.replaying import replay_database
from lastswitch.service.rotations import put_rotation

MONDAY = datetime(2024, 6, 3, tzinfo=UTC).timestamp()
DAILY = {**CYCLE, "calendar": {"start": "2024-06-03"}}
HOURLY = {**CYCLE, "calendar": {"start": "2024-06-03", "every": "1h", "zone": "Europe/Rome"}}


@pytest.fixture
def worker(database):
    """Give a worker on a database with two rotations."""
    database.create()
    for name in ("r", "other"):
        put_rotation(database, name, CYCLE)
    with worker_on(database) as found:
        yield found


def asking(name, rotation="r", **more):
    """Return an ask."""
    return Ask(rotation, f"id{name}", keyed=False, subject=name, **more)


@pytest.mark.parametrize("reward", [10**400, -(10**400), float("nan"), float("inf")])
def test_a_reward_beyond_numbers_is_one_request_s_problem(worker, reward):
    """Its neighbours in the same commit are answered."""
    ((_, first),) = worker.do([asking("ann")])
    replies = worker.do([asking("bob", "other"), Tell(first["id"], reward), asking("cay")])
    assert [status for status, _ in replies] == [201, 422, 201]
    assert worker.do([Tell(first["id"], 0.5)])[0][0] == 201


@pytest.mark.parametrize("broken", ["decide", "settled"])
def test_whatever_breaks_in_one_operation_is_undone(database, monkeypatch, broken):
    """Before anything was changed, or after: subject, learner and journal are as they were."""
    database.create()
    put_rotation(database, "r", LEARNER)
    with worker_on(database) as worker:
        decider = worker.rotations.decider("r")
        heard, works = decider.learner.news(), getattr(decider, broken)

        def breaks(*given, **more):
            if threading.current_thread().name == "lastswitch-store" and "bob" in str(given):
                raise RuntimeError("made up")
            return works(*given, **more)

        monkeypatch.setattr(decider, broken, breaks)
        offers = [asking(name, confirm=False) for name in ("ann", "cay")]
        replies = worker.do([offers[0], asking("bob"), offers[1]])
        assert [status for status, _ in replies] == [201, 500, 201]
        assert decider.learner.news() == heard
        monkeypatch.undo()
        assert worker.do([asking("bob")])[0][0] == 201
    assert replay_database(database.url.database).agrees


def test_an_id_that_no_database_can_keep_is_not_there(database):
    """Neither in an address nor in a batch; the rest of the batch is answered."""
    with running(database, {"r": CYCLE}) as client:
        check_odd_ids(client)


@pytest.mark.service
def test_postgresql_an_id_that_no_database_can_keep_is_not_there(postgres):
    """The same on PostgreSQL, which cannot even be asked for it."""
    from service_cases import Database

    with running(Database(postgres.url()), {"r": CYCLE}) as client:
        check_odd_ids(client)


def check_odd_ids(client):
    """Tell decisions that cannot be there, beside one that is."""
    good = ask(client).json()["id"]
    rewards = [{"id": name, "reward": 1} for name in ("a\0b", good, "\0")]
    found = client.post("/v1/decisions/reward", json={"rewards": rewards}).json()["answers"]
    assert [entry["status"] for entry in found] == [404, 201, 404]
    assert client.post("/v1/decisions/a%00b/confirm").status_code == 404
    assert ask(client, rotation="a%00b").status_code == 404
    for path in ("rotations/a%00b", "decisions/a%00b", "rotations/r/subjects/a%00b"):
        assert client.get(f"/v1/{path}").status_code in (404, 422)


@pytest.mark.parametrize("spec", [DAILY, HOURLY], ids=["daily", "hourly"])
def test_far_rounds_are_refused_at_once(database, spec):
    """Milliseconds for a round, years that never come; a year ahead is taken."""
    now = Now(MONDAY + 86_400 * 500)
    with running(database, {"r": spec}, clock=now) as client:
        began = time.monotonic()
        for at in (1717394400000, -1717394400000, 10**9, "9998-01-01", "0003-01-01", 2**52 - 1):
            found = ask(client, at=at)
            assert (found.status_code, found.json()["type"][-7:]) == (422, "too-far"), at
            assert "ahead" in found.json()["detail"]
        assert time.monotonic() - began < 2.0
        near = (now.at + 86_400 * 300, "2025-12-24 12:00")
        assert ask(client, "bob", at=int((near[0] - MONDAY) // 3600 // 24)).status_code == 201
        assert ask(client, "cay", at=near[1]).status_code == 201
        assert client.get("/v1/rotations/r/log", params={"form": "csv"}).status_code == 200
        wide = {**spec, "serve": {**spec["serve"], "ahead": "3000d"}}
        assert client.put("/v1/rotations/r", json=wide).status_code == 201
        assert ask(client, "dan", at="2030-01-01").status_code == 201


def test_a_far_round_of_before_does_not_break_the_log(database):
    """Numbered rounds may be anything; with a calendar later, their plays have no date."""
    with running(database, {"r": CYCLE}, clock=Now(MONDAY)) as client:
        for at in (10**9, FARTHEST - 1, 3):
            assert ask(client, f"s{at}", at=at).status_code == 201
        assert client.put("/v1/rotations/r", json=HOURLY).status_code == 201
        text = client.get("/v1/rotations/r/log", params={"form": "jsonl"}).text
        times = {row["round"]: row["time"] for row in map(json.loads, text.splitlines())}
        assert times == {10**9: None, FARTHEST - 1: None, 3: "2024-06-03T01:00:00+00:00"}
        for form in ("csv", "parquet"):
            assert client.get("/v1/rotations/r/log", params={"form": form}).status_code == 200
        again = ask(client, f"s{FARTHEST - 1}")
        assert (again.status_code, again.json()["type"][-10:]) == (409, "round-over")


def test_rounds_of_a_second_are_not_walked(database):
    """An even calendar is arithmetic; one that is not is refused where it would take for ever."""
    calendar = {"start": "2020-01-01", "every": "1s"}
    with running(database, {"r": {**CYCLE, "calendar": calendar}}, clock=Now(MONDAY)) as client:
        began = time.monotonic()
        seconds = int(MONDAY - datetime(2020, 1, 1, tzinfo=UTC).timestamp())
        assert ask(client).json()["round"] == seconds
        assert ask(client).status_code == 409
        assert time.monotonic() - began < 2.0
        zoned = {**CYCLE, "calendar": {**calendar, "zone": "Europe/Rome"}}
        refused = client.put("/v1/rotations/z", json=zoned)
        assert (refused.status_code, "looks up at most" in refused.text) == (422, True)


@settings(max_examples=60, deadline=None)
@given(
    every=st.sampled_from(["30min", "1h", "6h", "1d", "2d", "1w"]),
    starts=st.sampled_from(["00:00", "04:30"]),
    number=st.integers(-500, 500),
    part=st.floats(0.0, 0.999),
)
def test_arithmetic_and_the_calendar_agree(every, starts, number, part):
    """Rounds of an even calendar: beginnings, ends, moments in words, and days."""
    calendar = Calendar("2024-06-03", every, day_starts=starts)
    clock = Clock(calendar)
    begin, end = (t.replace(tzinfo=UTC).timestamp() for t in calendar.span(number))
    assert (clock.begin(number), clock.end(number)) == (begin, end)
    assert clock.say(number) == calendar.say(number)
    moment = begin + part * (end - begin)
    assert clock.round(moment) == number
    words = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
    assert clock.round_at(str(words), moment, 1e7) == calendar.round(str(words)) == number
    day = date(2024, 6, 3) + timedelta(days=number)
    assert clock.round_at(str(day), begin, 1e8) == calendar.round(str(day))


def test_a_calendar_that_is_not_even_is_walked_no_further_than_it_must():
    """Moments and numbers far away are refused by arithmetic."""
    clock = Clock(Calendar("2024-06-03", "1h", zone="Europe/Rome"))
    for far in (1e13, -1e13):
        with pytest.raises(TooFarError):
            clock.round(far)
    with pytest.raises(TooFarError):
        clock.begin(10**9)
    with pytest.raises(CalendarError):
        clock.round_at("soon", MONDAY, 1e7)
    assert clock.round(MONDAY) == 2


def test_planning_cannot_keep_everybody_waiting(database):
    """A batch that would plan for a minute is cut off; who is cut off may come again."""
    rules = [
        {"rule": "at_most", "who": f"a{k}", "plays": 1, "within": 2 + k % 5} for k in range(12)
    ]
    arms = [{"name": f"a{k}", "rest": [0.1 * (k % 9), 0.9], "streak": [0.0]} for k in range(12)]
    serve = {"decide": "plan", "time_limit": 1.0}
    slow = {"arms": arms, "rules": rules, "plays": [0, 3], "serve": serve}
    with running(database, {"slow": slow, "r": CYCLE}) as client:
        client.service.worker.deciding = 0.03  # far less than three hundred plans take
        asks = {"decisions": [{"subject": f"s{k}", "at": k} for k in range(300)]}
        found = client.post("/v1/rotations/slow/decisions/batch", json=asks).json()["answers"]
        statuses = [entry["status"] for entry in found]
        assert {503} <= set(statuses) <= {201, 503}
        assert found[-1]["problem"]["type"].endswith("busy")
        client.service.worker.deciding = 60.0
        assert ask(client, "s299", rotation="slow").status_code == 201
        assert ask(client).status_code == 201
    assert replay_database(database.url.database).agrees


def test_a_rotation_says_how_many_subjects_it_takes_in(database):
    """In its settings; those known go on, and another rotation has the service's limit."""
    few = copy.deepcopy(CYCLE)
    few["serve"]["subjects"] = 2
    with running(database, {"r": few, "o": CYCLE}) as client:
        client.service.worker._sweep()
        assert [ask(client, name).status_code for name in "abca"] == [201, 201, 403, 201]
        assert "subjects" in ask(client, "d").json()["detail"]
        assert [ask(client, name, rotation="o").status_code for name in "abc"] == [201] * 3


class Machine:
    """A machine's two clocks: one that can be set, and one that cannot."""

    def __init__(self):
        self.wall, self.passed = 1_000_000.0, 50.0
        self.clock = SteadyClock(lambda: self.wall, lambda: self.passed)

    def go(self, seconds):
        """Let time pass."""
        self.wall, self.passed = self.wall + seconds, self.passed + seconds
        return self.clock()


@pytest.mark.parametrize("jump", [10 * 86_400.0, -30 * 86_400.0])
def test_a_clock_that_jumps_is_believed_when_it_stays(jump):
    """A jump and back is not noticed; one that stays is the time; small steps always are."""
    machine = Machine()
    assert machine.go(5.0) == 1_000_005.0
    machine.wall += jump
    assert machine.go(3.0) == 1_000_008.0
    machine.wall -= jump
    assert machine.go(1.0) == 1_000_009.0
    machine.wall += 20.0
    assert machine.go(1.0) == 1_000_030.0
    machine.wall += jump
    assert machine.go(1.0) == 1_000_031.0
    assert machine.go(BELIEVED - 5.0) == 1_000_026.0 + BELIEVED
    assert machine.go(6.0) == machine.wall


def test_a_jump_ahead_books_no_reward_as_missing(database):
    """Windows stay open, true rewards are taken, and rounds go on."""
    machine = Machine()
    spec = copy.deepcopy(CYCLE)
    spec["serve"]["window"] = "7d"
    with running(database, {"r": spec}, clock=machine.clock) as client:
        found = ask(client).json()
        machine.wall += 10 * 86_400.0
        machine.go(3.0)
        client.service.worker._sweep()
        machine.wall -= 10 * 86_400.0
        told = client.post(f"/v1/decisions/{found['id']}/reward", json={"reward": 1})
        assert (told.status_code, told.json()["reward"]) == (201, 1.0)
        late = ask(client).json()
        machine.wall += 10 * 86_400.0  # really
        machine.go(1.0)
        machine.go(BELIEVED + 1.0)
        client.service.worker._sweep()
        missed = client.post(f"/v1/decisions/{late['id']}/reward", json={"reward": 1})
        assert missed.status_code == 409
