"""``lastswitch cohort``: from a log, or a table of states, to a calendar for everyone."""

from __future__ import annotations

import pandas as pd
import pyarrow.parquet as pq
import pytest

import lastswitch as ls
from cohorts.edge_cases import RADIO, random_events, random_states
from lastswitch.cli import main


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Go to a folder with a bandit, a log of May, a table of states, and say so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    RADIO.save("radio.toml")
    random_events(15, 200).to_parquet("events.parquet")
    random_states(15).to_csv("states.csv", index=False)
    return tmp_path


def simulated(**size):
    """Return a log of one event a day."""
    return ls.logs.simulate(RADIO, **size, seed=1).to_pandas()


def run(line, capsys):
    """Run a command line; return its exit code and what it said, to either side."""
    code = main(line.split(" | "))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_from_a_log_to_calendars_in_one_command(night, capsys):
    """The table is that of the library's call on the same clock; the page is beside it."""
    asked = "cohort | radio.toml | --log | events.parquet | --length | 4 | --from | 2024-06-03"
    asked += " | --zone | Europe/Rome | --out | plans.parquet | --page | page.html"
    code, out, _ = run(asked, capsys)
    assert code == 0
    assert "15 subjects, 4 rounds: worth" in out
    assert "wrote plans.parquet" in out
    calendar = ls.Calendar("2024-06-03", zone="Europe/Rome")
    plan = ls.plan_cohort(RADIO, ls.logs.EventLog("events.parquet"), 4, calendar=calendar)
    assert pq.read_table("plans.parquet").equals(plan.to_arrow())
    assert "round-robin" in (night / "page.html").read_text()


def test_states_budgets_weights_and_subjects(night, capsys):
    """Everything the call takes can be said."""
    names = [*random_states(15).subject[:9], "new"]
    pd.DataFrame({"subject": names, "worth": 2.0}).to_csv("who.csv", index=False)
    asked = "cohort | radio.toml | --states | states.csv | --length | 3 | --out | plans.csv"
    asked += " | --budget | jazz: 4 per round | --budget | talk: 9 in all"
    asked += " | --subjects | who.csv | --weight | worth"
    code, out, _ = run(asked, capsys)
    assert code == 0
    assert out.startswith("10 subjects, 3 rounds")
    assert "jazz: at most 4 plays a round" in out
    written = pd.read_csv("plans.csv")
    assert (written.arm == "jazz").groupby(written["round"]).sum().max() <= 4
    assert set(written.subject) == set(names)


def test_a_fitted_bandit_brings_its_clock_and_its_habit(night, capsys):
    """How the fit cut the clock is how the command does, unless it is told otherwise."""
    days = simulated(subjects=40, rounds=40)
    days.to_parquet("days.parquet")
    begin = f"{days.time.max() + pd.Timedelta(days=1):%Y-%m-%d}"
    fit = ls.fit_curves("days.parquet", every="1d", zone="Asia/Tokyo", day_starts="04:00")
    fit.write("fitted.toml")
    asked = "cohort | fitted.toml | --log | days.parquet | --days | 5 | --out | plans.parquet"
    code, out, _ = run(f"{asked} | --from | {begin}", capsys)
    assert code == 0
    assert "the log's habit" in out
    calendar = ls.Calendar(begin, zone="Asia/Tokyo", day_starts="04:00")
    plan = ls.plan_cohort(fit.bandit, ls.logs.EventLog("days.parquet"), 5, calendar=calendar)
    assert pq.read_table("plans.parquet").equals(plan.to_arrow())


def test_without_dates_rounds_are_numbered(night, capsys):
    """A log in order has no clock: everyone's next rounds come after their own last event."""
    simulated(subjects=5, rounds=9).to_csv("own.csv", index=False)
    asked = "cohort | radio.toml | --log | own.csv | --length | 2 | --out | plans.parquet"
    assert run(asked, capsys)[0] == 0
    table = pq.read_table("plans.parquet")
    assert "date" not in table.schema.names
    assert set(table.column("round").to_pylist()) == {0, 1}


def test_feeds_are_a_folder(night, capsys):
    """One file per subject."""
    asked = "cohort | radio.toml | --log | events.parquet | --weeks | 1 | --from | 2024-06-03"
    assert run(f"{asked} | --format | ics | --out | feeds", capsys)[0] == 0
    assert len(list((night / "feeds").glob("*.ics"))) == 15


BAD = {
    "neither": ("--length | 3", "either --log or --states"),
    "both": ("--log | events.parquet | --states | states.csv | --length | 3", "either --log or"),
    "no log": ("--log | gone.parquet | --length | 3", "no such log"),
    "no length": ("--states | states.csv", "say how long to plan"),
    "budget": ("--states | states.csv | --length | 3 | --budget | lots", "a budget is said like"),
    "page": ("--states | states.csv | --length | 3 | --page | no/p.html", "folder no does not"),
    "arms": ("--log | odd.csv | --length | 3", "say --drop-unknown to plan without them"),
    "forced": (
        "--states | states.csv | --length | 2 | --budget | everyone: 9",
        "force at least 15",
    ),
}


@pytest.mark.parametrize(("options", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_done_is_said_in_one_line(night, capsys, options, words):
    """Exit code 2, a sentence in the command line's own words, and nothing written."""
    random_events(3, 9).assign(arm="blues").to_csv("odd.csv", index=False)
    before = sorted(path.name for path in night.iterdir())
    code, out, said = run(f"cohort | radio.toml | {options} | --out | plans.parquet", capsys)
    assert (code, out) == (2, "")
    assert said.startswith("lastswitch: ")
    assert words in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in night.iterdir()) == before


def test_dates_of_a_fit_without_a_clock_are_refused(night, capsys):
    """Curves whose rounds are events say nothing of days."""
    log = simulated(subjects=20, rounds=20)
    ls.fit_curves(log).write("own.toml")
    log.to_parquet("own.parquet")
    asked = "cohort | own.toml | --log | own.parquet | --length | 2 | --from | 2024-06-03"
    code, _, said = run(f"{asked} | --out | plans.parquet", capsys)
    assert code == 2
    assert "each event was a round" in said
