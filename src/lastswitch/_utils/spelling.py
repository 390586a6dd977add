"""How whoever called writes a parameter: ``every='1d'`` in Python, ``--every 1d`` in a command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

#: The options of the command that runs, by the parameters they stand for; none in Python.
_OPTIONS: ContextVar[Mapping[str, str]] = ContextVar("options")
_NAME_ALONE = object()


def spelled(parameter: str, value: object = _NAME_ALONE) -> str:
    """Return a parameter as the caller writes it, alone or with a value.

    Examples
    --------
    >>> spelled("every"), spelled("every", "1d")
    ('every', "every='1d'")
    >>> with spelled_as({"every": "--every", "no_subject": "--no-subject"}):
    ...     spelled("every"), spelled("every", "1d"), spelled("subject", None), spelled("reward")
    ('--every', '--every 1d', '--no-subject', 'reward')
    """
    options = _OPTIONS.get({})
    option = options.get(parameter)
    if value is None and (off := options.get(f"no_{parameter}")):
        return off
    if value is _NAME_ALONE or option is None:
        return option or (parameter if value is _NAME_ALONE else f"{parameter}={value!r}")
    if value is True:
        return option
    if value is False or value is None:
        return f"no {option}"
    if isinstance(value, Mapping):
        value = ",".join(f"{key}={item}" for key, item in value.items())
    text = str(value)
    return f"{option} {shlex.quote(text) if '%' not in text else repr(text)}"


@contextmanager
def spelled_as(options: Mapping[str, str]) -> Iterator[None]:
    """Spell parameters as these options as long as this lasts."""
    token = _OPTIONS.set(options)
    try:
        yield
    finally:
        _OPTIONS.reset(token)
