"""Where every subject stands now: the state of each arm, from the same expressions as a fit."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from lastswitch._extras import load_extra
from lastswitch._when import WhenLike
from lastswitch.errors import LogError
from lastswitch.logs.clock import Rounds, moment
from lastswitch.logs.open_clock import OpenClock
from lastswitch.logs.reading import Reading, log_rules, read_log
from lastswitch.logs.source import BackendLike, Columns, LogLike, open_log

if TYPE_CHECKING:
    from ibis.expr.types import Table


def current_states(
    log: LogLike,
    *,
    every: str | float | None = None,
    at: str | date | float | None = None,
    subject: str | None = "subject",
    time: str = "time",
    arm: str = "arm",
    zone: str | None = None,
    day_starts: str = "00:00",
    skip: WhenLike | None = None,
    order: str | int | None = None,
    time_format: str | None = None,
    backend: BackendLike = None,
    memory: str = "3GB",
) -> Any:
    """Return the state of every arm that a subject ever played, as it stands at ``at``.

    An Arrow table ``subject, arm, tau``: ``tau`` rounds of rest, or ``-tau`` plays in a row up to
    the round before. An arm a subject never played has no row, for it has no state.

    Parameters
    ----------
    log, subject, time, arm, zone, day_starts, skip, order, time_format, backend, memory
        As for :func:`lastswitch.fit_curves`. Rewards are not needed.
    every
        How the clock is cut into rounds; rounds without events are rests. None: each event is a
        round, and everyone stands after their own last one.
    at
        The moment that lies in the coming round, which is not played yet: events in it and later
        are not looked at. A date, a time, or text for one; a number for times that are numbers.
        By default, the round after the log's last. If it is closed, the next open round.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"time": ["2024-06-01", "2024-06-02"], "arm": "jazz"})
    >>> for at in ("2024-06-03", "2024-06-05"):
    ...     print(current_states(log, subject=None, every="1d", at=at)["tau"].to_pylist())
    [-2]
    [2]
    """
    if at is not None and every is None:
        raise LogError(
            f"at={at!r} is a moment on the clock: say how long a round is, such as every='1d'."
        )
    rules = log_rules(
        Columns(subject, time, arm, None),
        order=order,
        every=every,
        zone=zone,
        day_starts=day_starts,
        skip=skip,
        time_format=time_format,
    )
    with open_log(log, backend, memory) as source:
        reading = read_log(source, rules)
        found = source.connection.to_pyarrow(_standing(reading, at))
    return found.sort_by([("subject", "ascending"), ("arm", "ascending")])


def _standing(reading: Reading, at: str | date | float | None) -> Table:
    """Return each subject's and arm's last play, and what became of it since."""
    ibis = load_extra("ibis", "logs")
    rounds = reading.rounds
    states = reading.states(None if rounds is not None else reading.rules.seed or 0)
    if rounds is not None:
        now = _round(reading, rounds, at)
        before = states.filter(states["round"] < now)
        ends = before.mutate(now=ibis.literal(now).cast("int64"))
    else:
        own = ibis.window(group_by=states.subject)
        ends = states.mutate(now=states["round"].max().over(own) + 1)
    last = ends.group_by(["subject", "arm", "now"]).aggregate(
        last=ends["round"].max(), begin=ends.begin.max()
    )
    rested = last.now - 1 - last["last"]
    tau = ibis.ifelse(rested > 0, rested, last.begin - last["last"] - 1)
    return last.select("subject", "arm", tau=tau.cast("int64"))


def _round(reading: Reading, rounds: Rounds | OpenClock, at: str | date | float | None) -> int:
    if at is None:
        return rounds.of(reading.events.span[1]) + 1
    return rounds.of(moment(at, reading.events.clock, reading.rules.times.zone))
