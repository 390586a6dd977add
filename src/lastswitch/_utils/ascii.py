"""Output that can print ASCII only: our own signs have plain forms, and nothing fails for them."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

#: How our own words and tables look where only ASCII can be printed.
_PLAIN = {
    **{"−": "-", "–": "-", "…": "...", "│": "|", "·": ".", "×": "x", "τ": "tau", "±": "+-"},
    **{"\N{NO-BREAK SPACE}": " ", "≥": ">=", "≤": "<="},
}
_TABLE = str.maketrans(_PLAIN)
#: How streams deal with what they cannot encode, if nobody chose: both fail.
_STRICT = ("strict", "surrogateescape")


def printable(text: str) -> str:
    """Return ``text`` with our own signs as ASCII where standard output lacks them.

    Names are left as they are: how to print those is for whoever gave them.

    Examples
    --------
    >>> printable("0.5 ± 0.1") in ("0.5 ± 0.1", "0.5 +- 0.1")
    True
    """
    try:
        "".join(_PLAIN).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_TABLE)
    return text


def print_anywhere() -> None:
    """Let output streams that lack a character print what stands for it, instead of failing."""
    codecs.register_error("lastswitch", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in _STRICT:
            stream.reconfigure(errors="lastswitch")


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for a piece of text that cannot be encoded, and where to go on."""
    assert isinstance(error, UnicodeEncodeError)  # the one kind that a stream being written raises
    piece = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in piece), error.end
