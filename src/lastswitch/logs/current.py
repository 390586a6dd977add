"""Where every subject stands now: the state of each arm, from the same expressions as a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from lastswitch._checks import check_whole
from lastswitch._extras import load_extra
from lastswitch._when import WhenLike
from lastswitch.errors import LogError
from lastswitch.logs.clock import Rounds, moment
from lastswitch.logs.open_clock import OpenClock
from lastswitch.logs.reading import LogRules, Reading, log_rules, read_log
from lastswitch.logs.source import BackendLike, Columns, LogLike, open_log

if TYPE_CHECKING:
    from ibis.expr.types import Table

#: A moment: a date, a time, or text for one; a number for times that are numbers.
Moment = str | date | float


@dataclass(frozen=True)
class EventLog:
    """A log of events and how it is read, to ask where every subject stands.

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
    >>> events = pd.DataFrame({"time": ["2024-06-01", "2024-06-02"], "arm": ["jazz", "talk"]})
    >>> log = EventLog(events, subject=None, every="1d", at="2024-06-03")
    >>> log.states()["tau"].to_pylist(), log.recent(1)["arm"].to_pylist()
    ([1, -1], ['talk'])
    """

    log: LogLike
    every: str | float | None = None
    at: Moment | None = None
    subject: str | None = "subject"
    time: str = "time"
    arm: str = "arm"
    zone: str | None = None
    day_starts: str = "00:00"
    skip: WhenLike | None = None
    order: str | int | None = None
    time_format: str | None = None
    backend: BackendLike = None
    memory: str = "3GB"

    def states(self) -> Any:
        """Return the state of every arm that a subject ever played: ``subject, arm, tau``.

        See :func:`lastswitch.logs.current_states`.
        """
        with self.open() as reading:
            found = reading.source.connection.to_pyarrow(standing(reading, self.at))
        return found.sort_by([("subject", "ascending"), ("arm", "ascending")])

    def recent(self, rounds: int) -> Any:
        """Return who played what in the last ``rounds`` rounds, as an Arrow table.

        It has the columns ``subject``, ``round`` (-1 for the last one) and ``arm``.
        """
        with self.open() as reading:
            found = reading.source.connection.to_pyarrow(recent_plays(reading, self.at, rounds))
        return found.sort_by([(name, "ascending") for name in ("subject", "round", "arm")])

    @contextmanager
    def open(self) -> Iterator[Reading]:
        """Open and clean the log; what was opened is closed at the end."""
        rules = self._rules()
        with open_log(self.log, self.backend, self.memory) as source:
            yield read_log(source, rules)

    def _rules(self) -> LogRules:
        if self.at is not None and self.every is None:
            raise LogError(
                f"at={self.at!r} is a moment on the clock: say how long a round is, such as "
                "every='1d'."
            )
        return log_rules(
            Columns(self.subject, self.time, self.arm, None),
            order=self.order,
            every=self.every,
            zone=self.zone,
            day_starts=self.day_starts,
            skip=self.skip,
            time_format=self.time_format,
        )


def current_states(
    log: LogLike,
    *,
    every: str | float | None = None,
    at: Moment | None = None,
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
    every, at
        As for :class:`lastswitch.logs.EventLog`: how the clock is cut into rounds, and the moment
        that lies in the coming one.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"time": ["2024-06-01", "2024-06-02"], "arm": "jazz"})
    >>> for at in ("2024-06-03", "2024-06-05"):
    ...     print(current_states(log, subject=None, every="1d", at=at)["tau"].to_pylist())
    [-2]
    [2]
    """
    events = EventLog(
        log,
        every=every,
        at=at,
        subject=subject,
        time=time,
        arm=arm,
        zone=zone,
        day_starts=day_starts,
        skip=skip,
        order=order,
        time_format=time_format,
        backend=backend,
        memory=memory,
    )
    return events.states()


def standing(reading: Reading, at: Moment | None) -> Table:
    """Return each subject's and arm's last play, and what became of it since."""
    ibis = load_extra("ibis", "logs")
    ends = _played(reading, at)
    last = ends.group_by(["subject", "arm", "now"]).aggregate(
        last=ends["round"].max(), begin=ends.begin.max()
    )
    rested = last.now - 1 - last["last"]
    tau = ibis.ifelse(rested > 0, rested, last.begin - last["last"] - 1)
    return last.select("subject", "arm", tau=tau.cast("int64"))


def recent_plays(reading: Reading, at: Moment | None, rounds: int) -> Table:
    """Return the plays of the last ``rounds`` rounds; ``round`` is -1 for the last one."""
    size = check_whole("rounds", rounds, 1, LogError)
    plays = _played(reading, at)
    back = (plays["round"] - plays.now).cast("int64")
    return plays.select("subject", "arm", round=back).filter(back >= -size).distinct()


def rounds_known(reading: Reading, at: Moment | None) -> int | None:
    """Return how many rounds before the coming one the log holds; None if each has its own."""
    if reading.rounds is None:
        return None
    first = reading.rounds.of(reading.events.span[0])
    return max(_round(reading, reading.rounds, at) - first, 0)


def _played(reading: Reading, at: Moment | None) -> Table:
    """Return every play before the coming round, whose number is ``now``."""
    ibis = load_extra("ibis", "logs")
    rounds = reading.rounds
    states = reading.states(None if rounds is not None else reading.rules.seed or 0)
    if rounds is None:
        own = ibis.window(group_by=states.subject)
        return states.mutate(now=states["round"].max().over(own) + 1)
    now = _round(reading, rounds, at)
    before = states.filter(states["round"] < now)
    return before.mutate(now=ibis.literal(now).cast("int64"))


def _round(reading: Reading, rounds: Rounds | OpenClock, at: Moment | None) -> int:
    if at is None:
        return rounds.of(reading.events.span[1]) + 1
    return rounds.of(moment(at, reading.events.clock, reading.rules.times.zone))
