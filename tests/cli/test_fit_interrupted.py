"""Ctrl-C while the engine works: one line, exit code 130, nothing half-written."""

from __future__ import annotations

import subprocess
import sys

import duckdb

from lastswitch.cli import INTERRUPTED

#: Sends the process a real SIGINT once its main thread is inside the engine's counting query: it
#: has called the engine, and for a while nothing moves on Python's side.
RUN = """
import os, signal, sys, threading, time
from lastswitch.cli import main

def names(frame):
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back

def watch(thread):
    still, place = 0, None
    while still < 30:
        frame = sys._current_frames()[thread]
        last, place = place, (frame.f_code, frame.f_lasti)
        called = os.sep + "duckdb" + os.sep in frame.f_code.co_filename
        inside = called and place == last and "count_states" in names(frame)
        still = still + 1 if inside else 0
        time.sleep(0.001)
    print("inside", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
main_thread = threading.main_thread().ident
threading.Thread(target=watch, args=(main_thread,), daemon=True).start()
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_inside_the_engine_is_one_line_and_leaves_everything_as_it_was(tmp_path):
    """The engine stops its query, and what an earlier fit wrote is still there."""
    log = tmp_path / "log.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT i // 250 AS subject, i % 250 AS time, 'arm ' || (hash(i) % 5) AS arm, "
        f"hash(i * 13) % 2 AS reward FROM range(2000000) t(i)) TO '{log}' (FORMAT parquet)"
    )
    out = tmp_path / "out"
    out.mkdir()
    (out / "fitted.toml").write_text("old")
    run = subprocess.run(
        [sys.executable, "-c", RUN, "fit", str(log), "--out", str(out / "fitted.toml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == "inside\nlastswitch: interrupted.\n"
    assert (run.returncode, run.stdout) == (INTERRUPTED, "")
    assert [path.name for path in out.iterdir()] == ["fitted.toml"]
    assert (out / "fitted.toml").read_text() == "old"
