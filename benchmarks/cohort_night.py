"""One night: from a log of events to a calendar for every subject, in one command."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lastswitch as ls
from benchmarks._table import keep, print_table
from lastswitch._utils.random import stream

NAMES = ("digest", "offer", "tips", "news", "survey", "invite")
#: Events of each subject, over as many days as the log is long.
EVENTS, DAYS = 50, 60
#: The cluster of the sum on paper, and its subjects.
CORES, MANY = 64, 100_000_000
_COMMAND = "import sys; from lastswitch.cli import main; sys.exit(main(sys.argv[1:]))"


def fitted() -> ls.Bandit:
    """Return curves such as a fit gives: rest tables a few rounds deep, streaks that wear out."""
    rng = stream(0, "cohort night", "curves")
    curves = [
        ls.Curve(np.sort(rng.uniform(0.1, 0.9, 12)), np.sort(rng.uniform(0, 0.3, 3))[::-1])
        for _ in NAMES
    ]
    return ls.Bandit(curves, names=NAMES)


def write_log(path: Path, subjects: int) -> None:
    """Write a log in which everyone plays something on most days."""
    rng = stream(0, "cohort night", "log")
    names, arms = pa.array([f"user-{k:07d}" for k in range(subjects)]), pa.array(NAMES)
    begin = np.datetime64("2024-04-04T00:00:00", "us")
    schema = pa.schema(
        [("subject", pa.string()), ("time", pa.timestamp("us")), ("arm", pa.string())]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(10):
            n = subjects * EVENTS // 10
            seconds = rng.integers(0, DAYS * 86400, n)
            columns = [
                names.take(pa.array(rng.integers(0, subjects, n))),
                begin + (seconds * 1_000_000).astype("timedelta64[us]"),
                arms.take(pa.array(rng.integers(0, len(NAMES), n))),
            ]
            writer.write_table(pa.table(columns, schema=schema))


def write_states(path: Path, subjects: int) -> None:
    """Write a table of states, one column per arm."""
    rng = stream(0, "cohort night", "states")
    taus = {
        name: rng.integers(1, 16, subjects) * rng.choice([1, 1, 1, -1], subjects) for name in NAMES
    }
    pq.write_table(pa.table({"subject": [f"user-{k:08d}" for k in range(subjects)], **taus}), path)


def measured(folder: Path, *options: str) -> tuple[float, float, float]:
    """Run the command; return its seconds, processor seconds and peak GiB."""
    shared = ("--length", "7", "--from", "2024-06-03", "--out", "calendars.parquet")
    line = [sys.executable, "-W", "ignore", "-c", _COMMAND, "cohort", "fitted.toml"]
    began = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [*line, *options, *shared],
        {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)],
    )
    _, status, used = os.wait4(child, 0)
    assert status == 0, options
    return (
        time.perf_counter() - began,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 2**20,
    )


def main(quick: bool = False) -> None:
    """Measure the command, and say on paper what a hundred million subjects would cost."""
    subjects, table = (2_000, 5_000) if quick else (200_000, 1_000_000)
    budget = ("--plays", "0-1", "--budget", f"everyone: {subjects // 2} per round")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        here = Path(folder)
        fitted().save("fitted.toml")
        write_log(here / "events.parquet", subjects)
        write_states(here / "few.parquet", 100)
        write_states(here / "states.parquet", table)
        log = ("--log", "events.parquet")
        runs = {
            "from the log": measured(here, *log),
            "from the log with a budget": measured(here, *log, *budget),
            "from the log on one process": measured(here, *log, "--jobs", "1"),
            "from states on one process": measured(
                here, "--states", "states.parquet", "--jobs", "1"
            ),
            "start alone": measured(here, "--states", "few.parquet", "--jobs", "1"),
        }
    events = subjects * EVENTS
    sizes = {name: (events if "log" in name else 0, subjects) for name in runs}
    sizes["from states on one process"] = (0, table)
    sizes["start alone"] = (0, 100)
    night = [
        {
            "command": name,
            "events": sizes[name][0],
            "subjects": sizes[name][1],
            "seconds": seconds,
            "processor seconds": processor if "process" in name or "start" in name else None,
            "peak GiB": peak,
        }
        for name, (seconds, processor, peak) in runs.items()
    ]
    start = runs["start alone"][1]
    subject = (runs["from states on one process"][1] - start) / table
    event = (runs["from the log on one process"][1] - start - subject * subjects) / events
    hours = (MANY * EVENTS * event + MANY * subject) / 3600
    paper = [
        {"part": "reading", "µs each": 1e6 * event, "core hours": MANY * EVENTS * event / 3600},
        {"part": "planning", "µs each": 1e6 * subject, "core hours": MANY * subject / 3600},
        {"part": "both", "µs each": None, "core hours": hours},
    ]
    cluster = [{"subjects": MANY, "events": MANY * EVENTS, "cores": CORES, "hours": hours / CORES}]
    for title, rows in (("One command", night), ("On paper", paper), ("A cluster", cluster)):
        print_table(title, rows)
    if not quick:
        keep(
            "cohort_night",
            "A calendar for every subject, in one command",
            "A Parquet log of 60 days, six arms, seven rounds. Processor seconds are those of one "
            "process, start of Python included; the peak is that of the command's own process. On "
            "paper: what reading an event and planning a subject took here, times as many.",
            {"night": night, "paper": paper, "cluster": cluster},
            cores="2 cores",
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
