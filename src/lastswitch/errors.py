"""Every error this library raises on purpose.

Each is a :class:`LastSwitchError` and also the built-in error a caller would expect, so either
can be caught. Messages say what was wrong, what was given, and what to do.
"""

from __future__ import annotations

from typing import Any


class LastSwitchError(Exception):
    """Base of every error this library raises on purpose.

    Examples
    --------
    >>> try:
    ...     raise BlockError("a block is a list of arms, at least one; got [].")
    ... except LastSwitchError as error:
    ...     print(error)
    a block is a list of arms, at least one; got [].

    An error about one parameter has its name as ``parameter``, however the message spells it.

    >>> from lastswitch import fit_curves
    >>> try:
    ...     fit_curves("plays.csv", max_rest=0)
    ... except LastSwitchError as error:
    ...     print(error.parameter)
    max_rest
    """

    def __init__(self, message: str = "", *, parameter: str | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.parameter = parameter if parameter is None or parameter.isidentifier() else None


class CurveError(LastSwitchError, ValueError):
    """A reward curve that is not one: values outside [0, 1], an empty table, a rising streak."""


class StateError(LastSwitchError, ValueError):
    """A switch state, or a state vector, that does not fit."""


class BanditError(LastSwitchError, ValueError):
    """A bandit whose parts do not go together, or an arm it does not have."""


class BlockError(LastSwitchError, ValueError):
    """A block that cannot be played: empty, or naming an arm that is not there."""


class ProblemError(LastSwitchError, ValueError):
    """A planning problem that is malformed or has no solution."""


class InfeasibleError(ProblemError):
    """Rules that no schedule can keep; ``conflict`` is a smallest set that cannot hold together."""

    def __init__(
        self, message: str, conflict: tuple[object, ...] = (), *, parameter: str | None = None
    ) -> None:
        super().__init__(message, parameter=parameter)
        self.conflict = conflict


class RuleError(LastSwitchError, ValueError):
    """A rule that makes no sense, or names what is not there."""


class BudgetError(ProblemError):
    """A budget of a cohort that makes no sense, or that no plans of its subjects can keep."""


class PlanError(LastSwitchError, ValueError):
    """A plan that contradicts its own certificate, or a call to a planner that makes no sense."""


class UndecidedError(PlanError):
    """Out of time before any schedule was found, or shown not to exist."""


class PolicyError(LastSwitchError, ValueError):
    """A policy built or asked with something it cannot use."""


class TellError(PolicyError):
    """A reward told for a pull that was never asked, or told twice with two values."""


class ExperimentError(LastSwitchError, ValueError):
    """An experiment that is malformed, or whose stored results cannot be used."""


class LogError(LastSwitchError, ValueError):
    """An event log that cannot be read as one, or cannot support what was asked of it."""


class CohortError(LastSwitchError, ValueError):
    """A table of subjects that cannot be planned: someone twice, no state, an arm unknown."""


class CalendarError(LastSwitchError, ValueError):
    """A calendar that cannot be made, a time in none of its rounds, or words it cannot read."""


class FileError(LastSwitchError, ValueError):
    """A file that is missing, malformed or of a version this release does not read."""


class ServiceError(LastSwitchError, ValueError):
    """A rotation, a database or a request that the service refuses.

    Of a request, ``problem`` is what the service answered (RFC 9457), and ``status`` its number.
    """

    def __init__(
        self,
        message: str,
        problem: dict[str, object] | None = None,
        *,
        parameter: str | None = None,
    ) -> None:
        super().__init__(message, parameter=parameter)
        self.problem = problem or {}
        status = self.problem.get("status", 0)
        self.status = status if isinstance(status, int) else 0


class InputTypeError(LastSwitchError, TypeError):
    """An argument of a type that cannot be used."""


class MissingExtraError(LastSwitchError, ImportError):
    """A feature whose optional dependency is not installed."""


class LastSwitchWarning(UserWarning):
    """Something worth knowing that is not an error."""
