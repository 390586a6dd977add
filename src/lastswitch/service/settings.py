"""The table ``[serve]`` of a rotation: how it decides, and how long it waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lastswitch._checks import check_choice, check_flag, check_whole, is_number, shown
from lastswitch._days import UNITS
from lastswitch._suggest import suggestion
from lastswitch.errors import ServiceError

DECIDE = ("learner", "plan", "cycle")
#: The largest number that a reward, or a memory, may be: sums of many more stay numbers.
LARGEST = 1e15
#: Seconds that ``ahead`` may be: ten years.
FARTHEST_AHEAD = 3660 * 86_400.0
_SPAN = re.compile(r"\s*(\d{1,9})\s*(s|min|h|d|w)\s*")


@dataclass(frozen=True)
class Settings:
    """The table ``[serve]`` of a rotation.

    Parameters
    ----------
    decide
        ``"learner"`` learns what arms pay; ``"plan"`` plans from where each subject stands, on the
        curves given; ``"cycle"`` plays ``cycle`` over and over.
    cycle
        The arms of each round of the cycle, by name; by default the best cycle of the curves.
    lookahead
        Rounds that a plan looks ahead.
    time_limit
        Seconds that a plan may take.
    prior
        How many rewards per state a learner takes the curves for; or the counts of a fit.
    memory
        Rounds after which a learner takes a reward for 1/e; for ever by default.
    explore
        The share of decisions drawn evenly among the arms allowed.
    holdout
        The share that is decided by ``holdout_plays`` instead, to be compared with.
    holdout_by
        Whether the share is of subjects or of decisions.
    holdout_plays
        ``"round-robin"`` (the arm that has rested longest), or a cycle.
    shadow
        Whether everything is played by ``holdout_plays`` and what would have been decided is only
        noted.
    rewards
        The smallest and the largest reward.
    window
        How long a reward may take, such as ``"7d"``; for ever by default.
    missing
        What a reward that has not come by then counts as; ``None``: as no reward at all.
    stand
        How long an offer stands that waits to be confirmed.
    ahead
        How far from now, or before round 0, a round may be that ``at`` asks for, where there is a
        calendar.
    subjects
        How many subjects the rotation takes in; as many as the service says by default.
    """

    decide: str = "learner"
    cycle: Any = None
    lookahead: int = 24
    time_limit: float = 0.1
    prior: Any = None
    memory: float | None = None
    explore: float = 0.0
    holdout: float = 0.0
    holdout_by: str = "subject"
    holdout_plays: Any = "round-robin"
    shadow: bool = False
    rewards: Sequence[float] = (0.0, 1.0)
    window: str | None = None
    missing: float | None = 0.0
    stand: str = "15min"
    ahead: str = "366d"
    subjects: int | None = None

    @classmethod
    def from_dict(cls, given: Any) -> Settings:
        """Return the settings of a table.

        Examples
        --------
        >>> Settings.from_dict({"decide": "learner", "holdout": 0.1}).holdout
        0.1
        >>> Settings.from_dict({"holdin": 0.1})
        Traceback (most recent call last):
        lastswitch.errors.ServiceError: [serve] has no 'holdin' (did you mean 'holdout'?); it has...
        """
        if not isinstance(given, Mapping):
            raise ServiceError(f"[serve] must be a table of settings, got {shown(given)}.")
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known:
                raise ServiceError(
                    f"[serve] has no {key!r}{suggestion(str(key), known)}; it has "
                    f"{', '.join(known)}."
                )
        found = cls(**given)
        found._check()
        return found

    def _check(self) -> None:
        check_choice("decide", self.decide, DECIDE, ServiceError)
        check_choice("holdout_by", self.holdout_by, ("subject", "decision"), ServiceError)
        check_whole("lookahead", self.lookahead, 1, ServiceError, 1000)
        check_flag("shadow", self.shadow)
        for name in ("explore", "holdout"):
            value = getattr(self, name)
            if not (is_number(value) and 0.0 <= value <= 1.0):
                raise ServiceError(f"{name} is a share from 0 to 1, got {shown(value)}.")
        if self.explore + self.holdout > 1.0:
            raise ServiceError("explore and holdout are shares of the same whole; lower one.")
        if not (is_number(self.time_limit) and 0.0 < self.time_limit <= 10.0):
            raise ServiceError(f"time_limit is up to 10 seconds, got {shown(self.time_limit)}.")
        if self.memory is not None and not (is_number(self.memory) and 0 < self.memory <= LARGEST):
            raise ServiceError(f"memory is a number of rounds, got {shown(self.memory)}.")
        pair = list(self.rewards) if isinstance(self.rewards, list | tuple) else []
        known = len(pair) == 2 and all(map(is_number, pair))
        if not (known and -LARGEST <= pair[0] < pair[1] <= LARGEST):
            raise ServiceError(
                f"rewards are the smallest and the largest, from {-LARGEST:g} to {LARGEST:g}, got "
                f"{shown(self.rewards)}."
            )
        if self.missing is not None and not (
            is_number(self.missing) and pair[0] <= self.missing <= pair[1]
        ):
            raise ServiceError(
                f"missing must be a reward from {pair[0]} to {pair[1]}, or left out; got "
                f"{shown(self.missing)}."
            )
        seconds_of("stand", self.stand)
        if seconds_of("ahead", self.ahead) > FARTHEST_AHEAD:
            raise ServiceError(f"ahead is at most 3660d, got {shown(self.ahead)}.")
        if self.subjects is not None:
            check_whole("subjects", self.subjects, 1, ServiceError, 10**12)
        if self.window is not None:
            seconds_of("window", self.window)


def seconds_of(what: str, text: Any) -> float:
    """Return the seconds of a length of time in words.

    Examples
    --------
    >>> seconds_of("window", "90min")
    5400.0
    """
    match = _SPAN.fullmatch(text) if isinstance(text, str) else None
    if match is None or not int(match[1]):
        raise ServiceError(
            f"{what} must be a whole number and a unit ({', '.join(UNITS)}), such as '7d', got "
            f"{shown(text)}."
        )
    return float(int(match[1]) * UNITS[match[2]])
