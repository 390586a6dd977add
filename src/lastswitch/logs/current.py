"""Where every subject stands now: the state of each arm, from the same expressions as a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from lastswitch._utils.checks import check_whole
from lastswitch._utils.extras import load_extra
from lastswitch.errors import LogError
from lastswitch.logs.clock import Rounds, moment
from lastswitch.logs.open_clock import OpenClock
from lastswitch.logs.reading import EventLog, LogOptions, Moment, Reading
from lastswitch.logs.source import LogLike

if TYPE_CHECKING:
    from ibis.expr.types import Table


def current_states(log: LogLike | EventLog, **how: Unpack[LogOptions]) -> Any:
    """Return the state of every arm that a subject ever played, as it stands at ``at``.

    An Arrow table ``subject, arm, tau``: ``tau`` rounds of rest, or ``-tau`` plays in a row up to
    the round before. An arm a subject never played has no row, for it has no state.

    Parameters
    ----------
    log
        The log, or an :class:`lastswitch.logs.EventLog`, which says how it is read.
    **how
        Parameters of :class:`lastswitch.logs.EventLog`, such as ``every`` (how the clock is cut
        into rounds) and ``at`` (the moment that lies in the coming one). Rewards are not needed.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"time": ["2024-06-01", "2024-06-02"], "arm": "jazz"})
    >>> for at in ("2024-06-03", "2024-06-05"):
    ...     print(current_states(log, subject=None, every="1d", at=at)["tau"].to_pylist())
    [-2]
    [2]
    """
    return EventLog.of(log, how).states()


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
