"""The table ``[serve]`` of a rotation: how it decides, and how long it waits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError
from pydantic import model_validator as check_together

from lastswitch._checks import shown
from lastswitch._days import UNITS
from lastswitch._suggest import suggestion
from lastswitch.errors import ServiceError

#: The largest number that a reward, or a memory, may be: sums of many more stay numbers.
LARGEST = 1e15
#: Seconds that ``ahead`` may be: ten years.
FARTHEST_AHEAD = 3660 * 86_400.0
_SPAN = re.compile(r"\s*(\d{1,9})\s*(s|min|h|d|w)\s*")

Share = Annotated[float, Field(ge=0, le=1)]
Reward = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


def seconds_of(text: str) -> float:
    """Return the seconds of a length of time in words.

    Examples
    --------
    >>> seconds_of("90min")
    5400.0
    """
    match = _SPAN.fullmatch(text)
    if match is None or not int(match[1]):
        raise ServiceError(f"give a whole number and a unit ({', '.join(UNITS)}), such as '7d'")
    return float(int(match[1]) * UNITS[match[2]])


def _span(text: str) -> str:
    seconds_of(text)
    return text


def _span_ahead(text: str) -> str:
    if seconds_of(text) > FARTHEST_AHEAD:
        raise ServiceError("ahead is at most 3660d")
    return text


Span = Annotated[str, AfterValidator(_span)]


class Settings(BaseModel):
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

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    decide: Literal["learner", "plan", "cycle"] = "learner"
    cycle: Any = None
    lookahead: Annotated[int, Field(ge=1, le=1000)] = 24
    time_limit: Annotated[float, Field(gt=0, le=10)] = 0.1
    prior: Any = None
    memory: Annotated[float, Field(gt=0, le=LARGEST)] | None = None
    explore: Share = 0.0
    holdout: Share = 0.0
    holdout_by: Literal["subject", "decision"] = "subject"
    holdout_plays: Any = "round-robin"
    shadow: bool = False
    rewards: Annotated[tuple[Reward, Reward], Strict(False)] = (0.0, 1.0)
    window: Span | None = None
    missing: Reward | None = 0.0
    stand: Span = "15min"
    ahead: Annotated[str, AfterValidator(_span_ahead)] = "366d"
    subjects: Annotated[int, Field(ge=1, le=10**12)] | None = None

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
        >>> Settings.from_dict({"lookahead": 0})
        Traceback (most recent call last):
        lastswitch.errors.ServiceError: [serve] lookahead: input should be greater than or equal to
        1, got 0.
        """
        if not isinstance(given, Mapping):
            raise ServiceError(f"[serve] must be a table of settings, got {shown(given)}.")
        try:
            return cls.model_validate(dict(given))
        except ValidationError as error:
            raise ServiceError(_words(error)) from None

    @check_together(mode="after")
    def _agree(self) -> Settings:
        if self.explore + self.holdout > 1.0:
            raise ServiceError("explore and holdout are shares of the same whole; lower one")
        low, high = self.rewards
        if low >= high:
            raise ServiceError("rewards are the smallest and the largest")
        if self.missing is not None and not low <= self.missing <= high:
            raise ServiceError(f"missing must be a reward from {low:g} to {high:g}, or left out")
        return self


def _words(error: ValidationError) -> str:
    """Say in one sentence what is wrong with the first setting that is."""
    found = error.errors(include_url=False)[0]
    name, message = ".".join(map(str, found["loc"])), found["msg"].removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        known = list(Settings.model_fields)
        return f"[serve] has no {name!r}{suggestion(name, known)}; it has {', '.join(known)}."
    if not name:
        return f"[serve] {message}."
    return f"[serve] {name}: {message[0].lower()}{message[1:]}, got {shown(found['input'])}."
