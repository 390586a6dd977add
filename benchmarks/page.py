"""Turn the benchmark results into the documentation's page: ``python -m benchmarks.page``.

Every benchmark leaves one JSON file in ``benchmarks/results``: an object whose ``title``, ``date``,
``machine`` and ``about`` say what was measured, when and where. Every other entry that is a list of
objects becomes a table, one row each, folded if it is long; every other plain value becomes a
line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

#: A table with more rows than this is folded.
LONG = 20
RESULTS = Path(__file__).parent / "results"
HEAD = ("title", "date", "machine", "about", "about_tables", "format", "version", "versions")


def page(folder: Path = RESULTS) -> str:
    """Return the page's Markdown: one section per file of results, in alphabetical order."""
    files = sorted(folder.glob("*.json"))
    if not files:
        return "No results have been kept yet: run `make bench`."
    return "\n\n".join(section(file.stem, json.loads(file.read_text())) for file in files)


def section(name: str, results: Mapping[str, Any]) -> str:
    """Return the Markdown of one benchmark."""
    parts = [f"## {results.get('title', words(name))}"]
    if "about" in results:
        parts.append(str(results["about"]))
    where = [str(results[key]) for key in ("date",) if key in results]
    where += [machine(results["machine"])] if "machine" in results else []
    if where:
        parts.append(f"*Measured {', '.join(where)}.*")
    facts = []
    several = sum(map(is_table, results.values())) > 1
    for key, value in results.items():
        if key in HEAD:
            continue
        if is_table(value):
            parts += titled(words(key), list(table(value)), heading=several)
        elif not isinstance(value, Sequence | Mapping) or isinstance(value, str):
            facts.append(f"- {words(key)}: {text(value)}")
    if facts:
        parts.append("\n".join(facts))
    return "\n\n".join(parts)


def titled(title: str, lines: Sequence[str], *, heading: bool) -> Iterator[str]:
    """Yield a table, under a ``heading`` if asked; a long one is folded behind its title."""
    title = title[:1].upper() + title[1:]
    if len(lines) > LONG + 2:
        yield "\n".join([f'??? note "{title}"', "", *(f"    {x}" for x in lines)])
        return
    if heading:
        yield f"### {title}"
    yield "\n".join(lines)


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; columns are the keys, in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    numeric = {
        key for key in columns if all(isinstance(row.get(key), int | float | None) for row in rows)
    }
    yield "| " + " | ".join(words(key) for key in columns) + " |"
    yield "|" + "|".join("---:" if key in numeric else "---" for key in columns) + "|"
    places = {key: decimals([row.get(key) for row in rows]) for key in numeric}
    for row in rows:
        cells = (text(row.get(key, ""), places.get(key)) for key in columns)
        yield "| " + " | ".join(cells) + " |"


def decimals(values: Sequence[float | None]) -> int | None:
    """Return how many decimals give a column of like numbers four digits; None if they are not.

    Whole numbers are no such column, nor are numbers that differ by a hundred times or more.
    """
    sizes = [abs(value) for value in values if value]
    if all(size == int(size) for size in sizes) or max(sizes) >= 100 * min(sizes):
        return None
    places = max(3 - math.floor(math.log10(max(sizes))), 0)
    while places and all(round(size, places) == round(size, places - 1) for size in sizes):
        places -= 1  # a column of 0.5 and 0.25 needs no zeros behind them
    return places


def is_table(value: Any) -> bool:
    """Tell whether ``value`` is a non-empty list of objects."""
    listed = isinstance(value, list) and bool(value)
    return listed and all(isinstance(row, Mapping) for row in value)


def machine(value: Any) -> str:
    """Return the machine in words."""
    if isinstance(value, Mapping):
        return "on " + ", ".join(f"{words(key)} {each}" for key, each in value.items())
    return f"on {value}"


def words(key: str) -> str:
    """Return a key of the results as words."""
    return key.replace("_", " ")


def text(value: Any, places: int | None = None) -> str:
    """Return one cell: numbers with ``places`` decimals or four digits, nothing for nothing."""
    if value is None:
        return ""
    if places is not None and isinstance(value, int | float):
        return f"{value:.{places}f}"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.0f}"
    plain = re.sub(r"\d[\d.]*e\+\d+", lambda number: f"{float(number[0]):.0f}", str(value))
    return plain.replace("|", "\\|")


#: A figure in a page's text: ``{{file; table; first cells of its row; column; format}}``.
FIGURE = re.compile(r"\{\{([^{};]+;[^{}]+)\}\}")


def with_figures(markdown: str, folder: Path = RESULTS) -> str:
    """Return a page with every figure it marks filled in from the results.

    ``{{reproduction; policies; Five arms, CombUCB1; total; ,.0f}}`` is the total of the row of
    that table that begins with these cells. One that is not there is an error, not a gap.
    """
    return FIGURE.sub(lambda marked: figure(marked[1], folder), markdown)


def figure(marked: str, folder: Path = RESULTS) -> str:
    """Return one figure as text."""
    name, key, first, column, *style = (part.strip() for part in marked.split(";"))
    cells = [cell.strip() for cell in first.split(",")]
    try:
        rows = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))[key]
        (row,) = [row for row in rows if list(map(str, row.values()))[: len(cells)] == cells]
        value = row[column]
    except (OSError, KeyError, ValueError) as error:
        raise LookupError(f"{{{{{marked}}}}} is not among the results: {error!r}") from error
    return format(value, style[0]) if style else text(value)


if __name__ == "__main__":
    print(page())
