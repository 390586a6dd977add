"""Did you mean …? The one place that guesses what a misspelt name was meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(given: object, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'rest'?)"``, or nothing when no known name is close.

    Examples
    --------
    >>> suggestion("rset", ["rest", "streak"])
    " (did you mean 'rest'?)"
    >>> suggestion("colour", ["rest", "streak"])
    ''
    """
    if not isinstance(given, str):
        return ""
    import difflib  # on use: it is needed only on the way to an error

    close = difflib.get_close_matches(given.lower(), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
