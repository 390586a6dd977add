"""Let long names in tables break where a reader would break them."""

from __future__ import annotations

import re
from typing import Any

CELL = re.compile(r"<td[^>]*>.*?</td>", re.S)
CODE = re.compile(r"<code>([^<]*)</code>")


def on_page_content(html: str, **kwargs: Any) -> str:
    """Allow a break after ``/``, ``::``, ``.`` and ``_`` in the code of table cells."""
    return CELL.sub(lambda cell: CODE.sub(_breakable, cell[0]), html)


def _breakable(code: re.Match[str]) -> str:
    parts = re.sub(r"(/|::|[._])(?=\w)", r"\1<wbr>", code[1])
    return f"<code>{parts}</code>"
