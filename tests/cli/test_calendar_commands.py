"""Dates on the command line: plan --from, new, check."""

import csv
import io
import json
import re
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest

import lastswitch as ls
from lastswitch.cli import main
from lastswitch.cli.new import STARTERS

STATION = """
[calendar]
zone = "Europe/Rome"
skip = ["sun", 2024-06-13]

[[arms]]
name = "hit, =1"
rest = [0.35, 0.35, 0.95]
streak = [0.35]

[[arms]]
name = "talk"
delays = [0.1, 0.3]
"""


@pytest.fixture
def station(tmp_path, monkeypatch):
    """Return the name of a file with a calendar that leaves the start open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "station.toml").write_text(STATION)
    return "station.toml"


def run(capsys, *arguments):
    """Return what a command prints, after it succeeded."""
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments):
    """Return what a command says that did not succeed."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_plan_is_printed_as_weeks(station, capsys):
    """From the date given, over the weeks asked for, without what the calendar skips."""
    lines = run(capsys, "plan", station, "--from", "2024-06-03", "--weeks", "2").splitlines()
    assert lines[1] == "Mon 3 Jun 2024 to Sat 15 Jun 2024, Europe/Rome"
    assert lines[2].split() == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert lines[0].startswith("11 rounds")
    assert "· closed" in lines


def test_a_feed_goes_to_a_file(station, capsys, tmp_path):
    """The file's ending says how; what is in it is the plan."""
    command = ["plan", station, "--from", "2024-06-03", "--days", "5"]
    assert "wrote june.ics" in run(capsys, *command, "--out", "june.ics")
    feed = icalendar.Calendar.from_ical((tmp_path / "june.ics").read_bytes())
    events = [(e["DTSTART"].dt, str(e["SUMMARY"])) for e in feed.walk("VEVENT")]
    plan = ls.plan_block(ls.load_bandit(station), 5)
    names = [plan.names[arm] for arm in plan.block]
    assert events == [(date(2024, 6, 3 + k), name) for k, name in enumerate(names)]
    printed = run(capsys, *command, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["arm"] for row in rows] == names
    assert json.loads(run(capsys, *command, "--format", "json"))["rounds"] == 5
    assert run(capsys, *command, "--format", "playlist").startswith("time,title\n2024-06-03 00:00:")
    run(capsys, *command, "--format", "playlist", "--out", "log.dat")
    assert (tmp_path / "log.dat").read_text().startswith("time,title\n")


@pytest.mark.parametrize("word", ["today", "tomorrow", "monday", "SUN"])
def test_from_a_day_in_words(word, station, capsys):
    """Today, tomorrow, and the next weekday, in the calendar's zone."""
    (path := "open.toml", text := STATION.replace('skip = ["sun", 2024-06-13]', ""))
    with open(path, "w") as file:
        file.write(text)
    before = datetime.now(ZoneInfo("Europe/Rome")).date()
    rows = run(capsys, "plan", path, "--from", word, "--days", "1", "--format", "csv").splitlines()
    after = datetime.now(ZoneInfo("Europe/Rome")).date()
    got = date.fromisoformat(rows[1].split(",")[1])
    expected = set()
    for today in (before, after):  # a test may run over midnight
        ahead = {"today": 0, "tomorrow": 1, "monday": -today.weekday(), "SUN": 6 - today.weekday()}
        expected.add(today + timedelta(ahead[word] % 7))
    assert got in expected


def test_a_cycle_is_laid_out_over_weeks(station, capsys):
    """--length is the cycle's, --weeks how far it goes."""
    command = ["plan", station, "--cycle", "--length", "4", "--from", "2024-06-03", "--weeks", "3"]
    rows = list(csv.DictReader(io.StringIO(run(capsys, *command, "--format", "csv"))))
    assert len(rows) == 17
    assert [row["arm"] for row in rows[:4]] == [row["arm"] for row in rows[4:8]]


def test_a_file_without_dates_plans_rounds(station, capsys):
    """As before; and what needs dates says so."""
    assert "  0-7  " in run(capsys, "plan", station, "--length", "8")
    assert "--weeks needs dates" in refused(capsys, "plan", station, "--weeks", "2")
    assert "--format csv needs dates" in refused(
        capsys, "plan", "five-arms", "--length", "4", "--format", "csv"
    )
    assert "--out needs dates" in refused(
        capsys, "plan", "five-arms", "--length", "4", "--out", "a.csv"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--length", "4", "--weeks", "2"], "got --length and --weeks"),
        ([], "one of --length, --weeks, --days"),
        (["--weeks", "0"], "--weeks must be a whole number of at least 1, got 0"),
        (["--days", "3", "--out", "june.xls"], "end it in .txt, .csv, .json, .ics"),
        (["--days", "3", "--out", "no/june.ics"], "the folder no does not exist"),
        (["--days", "3", "--format", "isc"], "(did you mean 'ics'?)"),
        (["--days", "3", "--from", "mondya"], "(did you mean 'monday'?)"),
        (["--days", "3", "--from", "2024-06-09"], "the nearest is Monday 2024-06-10"),
    ],
)
def test_options_that_make_no_sense_are_explained(options, message, station, capsys):
    """Before anything is planned."""
    begin = [] if "--from" in options else ["--from", "2024-06-03"]
    assert message in refused(capsys, "plan", station, *begin, *options)


def test_a_calendar_in_a_file_is_checked(station, capsys, tmp_path):
    """Its errors name the file and the table."""
    (tmp_path / "bad.toml").write_text(STATION.replace("Europe/Rome", "Europe/Roma"))
    message = refused(capsys, "plan", "bad.toml", "--from", "2024-06-03", "--weeks", "1")
    assert "did you mean 'Europe/Rome'?" in message
    (tmp_path / "bad.toml").write_text(STATION.replace("skip", "skpi"))
    message = refused(capsys, "check", "bad.toml", "--from", "2024-06-03")
    assert "bad.toml: [calendar]: a calendar has no 'skpi' (did you mean 'skip'?)" in message
    (tmp_path / "bad.toml").write_text("calendar = 5\n" + STATION[STATION.index("[[arms]]") :])
    assert "[calendar] must be a table" in refused(capsys, "plan", "bad.toml", "--length", "2")


@pytest.mark.parametrize("kind", STARTERS)
def test_new_files_are_in_order(kind, capsys, tmp_path, monkeypatch):
    """What `new` writes loads, has comments, and nothing about it is odd."""
    monkeypatch.chdir(tmp_path)
    text = run(capsys, "new", kind)
    assert text.count("#") > 10
    (tmp_path / "mine.toml").write_text(text)
    bandit, calendar = ls.load_bandit("mine.toml"), ls.load_calendar("mine.toml")
    assert bandit.rules
    assert calendar.zone == "Europe/Rome"
    assert "nothing odd" in run(capsys, "check", "mine.toml")


def test_new_writes_no_file_twice(capsys, tmp_path, monkeypatch):
    """A file that exists is left as it is; a kind that does not is guessed."""
    monkeypatch.chdir(tmp_path)
    run(capsys, "new", "radio", "--out", "mine.toml")
    (tmp_path / "mine.toml").write_text(text := "# changed\n")
    assert "mine.toml exists already" in refused(capsys, "new", "meals", "--out", "mine.toml")
    assert (tmp_path / "mine.toml").read_text() == text
    assert "did you mean 'radio'" in refused(capsys, "new", "rdio")


RULES = """
[groups]
all = ["hit", "talk"]
spare = ["hit"]

[[rules]]
rule = "at_most"
who = "all"
plays = 7
every = 7

[[rules]]
rule = "never"
who = "talk"
when = "mon-sun"

[[rules]]
rule = "never"
who = "hit"
when = "2025-01-01"
cost = 1.0

[[rules]]
rule = "never"
who = "hit"
when = "2023-01-01, sat"
cost = 0.5

[[rules]]
rule = "at_least"
who = "hit"
plays = 1
per = "month"

[[rules]]
rule = "at_least"
who = "hit"
plays = 1
per = "month"
"""


def test_check_says_what_is_odd(station, capsys, tmp_path):
    """Each oddity in a sentence, and exit code 1."""
    text = STATION.replace("hit, =1", "hit").replace("2024-06-13", "2023-06-13") + RULES
    (tmp_path / "odd.toml").write_text(text)
    assert main(["check", "odd.toml", "--from", "2024-06-03", "--weeks", "2"]) == 1
    printed = capsys.readouterr().out
    for sentence in [
        "2 arms, 6 rules, 12 rounds from Monday 2024-06-03 to Saturday 2024-06-15:",
        "- at_most('all', 7, every=7) can never bind",
        "- never('hit', when='2025-01-01', cost=1.0) says nothing about these rounds: none of them "
        "is '2025-01-01'.",
        "when='2023-01-01, sat', cost=0.5) speaks of 2023-01-01, before the first round.",
        "- the calendar's skip speaks of 2023-06-13, before the first round.",
        "- at_least('hit', 1, per='month') asks for nothing in these rounds",
        "- at_least('hit', 1, per='month') is said twice",
        "- no rule lets 'talk' be played in any of these 12 rounds.",
        "- group 'spare' is in no rule",
    ]:
        assert sentence in printed, sentence
    assert len(re.findall("^- ", printed, re.M)) == 9


def test_check_names_rules_that_cannot_be_kept(station, capsys, tmp_path):
    """A round without any arm is an error, by its date; so is a name that is none."""
    rule = '\n[[rules]]\nrule = "never"\nwho = "everyone"\nwhen = "wed"\n'
    (tmp_path / "none.toml").write_text(STATION + rule)
    message = refused(capsys, "check", "none.toml", "--from", "2024-06-03")
    assert "leaves no arm for Wednesday 2024-06-05 (round 2)" in message
    (tmp_path / "none.toml").write_text(STATION + rule.replace("everyone", "tlak"))
    assert "did you mean 'talk'" in refused(capsys, "check", "none.toml", "--from", "2024-06-03")
    (tmp_path / "none.toml").write_text(STATION + rule)
    assert "only a calendar can turn into rounds" in refused(capsys, "check", "none.toml")


def test_check_asks_about_times_that_belong_to_one_part_only(station, capsys, tmp_path):
    """'mon, wed 06:00-10:00' is all of Monday."""
    rule = '\n[[rules]]\nrule = "never"\nwho = "talk"\nwhen = "mon, wed 00:00-10:00"\n'
    (tmp_path / "part.toml").write_text(STATION + rule)
    assert main(["check", "part.toml", "--from", "2024-06-03"]) == 1
    assert "belongs to the last part alone" in capsys.readouterr().out
