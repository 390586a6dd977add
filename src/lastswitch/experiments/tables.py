"""A small table that knows every dress: terminal, Markdown, CSV and Parquet."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from lastswitch._utils.ascii import printable
from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.csv import csv_text
from lastswitch._utils.extras import load_extra

if TYPE_CHECKING:
    from rich.console import Group

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A column: its name in files, its title for people, and how its numbers are written.

    A column without a title is for files only; ``half`` names the one whose numbers people read
    after a ± in this one.

    Examples
    --------
    >>> Column("share", "Of optimum", ".1%", half="share_half").name
    'share'
    """

    name: str
    title: str = ""
    style: str = ""
    half: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under named columns. Prints as text; in a terminal, ``rich`` draws it.

    Examples
    --------
    >>> table = Table([Column("policy", "Policy"), Column("share", "Share", ".1%")], [["A", 0.5]])
    >>> print(table.to_markdown())
    | Policy | Share |
    |:--|--:|
    | A | 50.0% |
    >>> print(table.to_csv())
    policy,share
    A,0.5
    <BLANKLINE>
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    note: str = ""

    def texts(self) -> Iterator[list[str]]:
        """Yield each row as people read it."""
        names = [column.name for column in self.columns]
        for row in self.rows:
            cells = dict(zip(names, row, strict=True))
            yield [_text(cells[c.name], cells.get(c.half), c.style) for c in self.shown]

    @property
    def shown(self) -> list[Column]:
        """The columns people see."""
        return [column for column in self.columns if column.title]

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        rules = ["--:" if column.style else ":--" for column in self.shown]
        lines = [[column.title for column in self.shown], *self.texts()]
        shown = [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
        ]
        return "\n".join([shown[0], "|" + "|".join(rules) + "|", *shown[1:]])

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the table as CSV with full-precision numbers; also write it to ``path``."""
        text = csv_text([column.name for column in self.columns], self.rows)
        if path is not None:
            write_atomic(path, text)
        return text

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a Parquet file (needs the ``logs`` extra)."""
        arrow, parquet = load_extra("pyarrow", "logs"), load_extra("pyarrow.parquet", "logs")
        cells = list(zip(*self.rows, strict=True)) or [()] * len(self.columns)
        data = {c.name: list(values) for c, values in zip(self.columns, cells, strict=True)}
        sink = io.BytesIO()
        parquet.write_table(arrow.table(data), sink)
        return write_atomic(path, sink.getvalue())

    def __rich__(self) -> Group:
        from rich import box
        from rich.console import Group
        from rich.markup import escape
        from rich.table import Table as RichTable

        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for column in self.shown:
            side: Literal["right", "left"] = "right" if column.style else "left"
            table.add_column(column.title, justify=side, no_wrap=bool(column.style))
        for row in self.texts():
            table.add_row(*map(escape, row))
        texts = [escape(text) for text in (self.title, self.note)]
        return Group(*texts[:1], table, *texts[1:])

    def __str__(self) -> str:
        header = [column.title for column in self.shown]
        lines = [list(map(printable, line)) for line in (header, *self.texts())]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        out = []
        for line in lines:
            cells = (
                cell.rjust(width) if column.style else cell.ljust(width)
                for cell, width, column in zip(line, widths, self.shown, strict=True)
            )
            out.append("  ".join(cells).rstrip())
        return "\n".join(filter(None, [self.title, *out, printable(self.note)]))


def _text(cell: Cell, half: Cell, style: str) -> str:
    """Write one cell, and how far it reaches to either side, for people."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, str) or not style:
        return str(cell)
    known = isinstance(half, float | int) and not math.isnan(half)
    return f"{cell:{style}} ± {half:{style}}" if known else f"{cell:{style}}"
