"""The ``[calendar]`` of a bandit's file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from os import PathLike
from typing import Any

from lastswitch._checks import check_path, shown
from lastswitch.calendar import Calendar
from lastswitch.errors import CalendarError, FileError, InputTypeError
from lastswitch.files import read_values


def load_calendar(path: str | PathLike[str], start: str | date | None = None) -> Calendar | None:
    r"""Read the ``[calendar]`` of a bandit's file; None if it has none.

    Parameters
    ----------
    path
        The file.
    start
        Where to begin, instead of what the file says; a file that says nothing needs it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '[calendar]\nzone = "Europe/Rome"\nskip = "sat-sun"\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "radio.toml"
    ...     _ = file.write_text(text)
    ...     load_calendar(file, start="2024-06-03").skip
    When('sat-sun')
    """
    table = calendar_table(path)
    if table is None:
        return None
    given = {} if start is None else {"start": start}
    try:
        return Calendar.from_dict({**table, **given})
    except (CalendarError, InputTypeError) as error:
        raise FileError(f"{path}: [calendar]: {error}") from error


def calendar_table(path: str | PathLike[str]) -> dict[str, Any] | None:
    r"""Return the settings under ``[calendar]`` in a bandit's file; None if it has none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "radio.toml"
    ...     _ = file.write_text('[calendar]\nevery = "1h"\n')
    ...     calendar_table(file)
    {'every': '1h'}
    """
    file = check_path(path)
    data = read_values(file)
    table = data.get("calendar") if isinstance(data, Mapping) else None
    if not (table is None or isinstance(table, Mapping)):
        raise FileError(f"{file}: [calendar] must be a table of settings, got {shown(table)}.")
    return None if table is None else dict(table)
