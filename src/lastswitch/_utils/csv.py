"""CSV that a spreadsheet opens as data: no cell of ours is ever run as a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: What makes a spreadsheet read a cell as a formula, or look behind what it skips for one. A text
#: that has the mark already gets another one, so that taking one off gives every text back.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return ``rows`` under ``header`` as CSV; None is an empty cell.

    Examples
    --------
    >>> print(csv_text(["arm", "change"], [["=1+1", -0.5], ["talk", None]]))
    arm,change
    '=1+1,-0.5
    talk,
    <BLANKLINE>
    """
    lines = [",".join(map(_quoted, row)) for row in (header, *rows)]
    return "\n".join([*lines, ""])


def csv_cell(value: object) -> object:
    """Return ``value`` as a cell; text that would run gets the apostrophe that keeps it text.

    Its type decides, not its look: an arm called "+0" is no number.

    Examples
    --------
    >>> csv_cell("@SUM(A1)"), csv_cell("+0"), csv_cell(-0.5), csv_cell("rock - 50s")
    ("'@SUM(A1)", "'+0", -0.5, 'rock - 50s')
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _quoted(value: object) -> str:
    """Return a cell between commas. The csv module leaves a lone CR bare, which splits the row."""
    text = str(csv_cell(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",\r\n') else text
