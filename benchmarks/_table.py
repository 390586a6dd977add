"""What benchmarks share: a table in the terminal, a file of results for the documentation."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from lastswitch._utils.atomic import write_atomic

RESULTS = Path(__file__).parent / "results"
Rows = Sequence[Mapping[str, Any]]


def print_table(title: str, rows: Rows) -> None:
    """Print rows as a table whose columns are their keys."""
    table = Table(title=title, title_justify="left")
    for key in rows[0]:
        table.add_column(key, justify="left" if isinstance(rows[0][key], str) else "right")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    Console(width=150).print(table)


def keep(
    name: str, title: str, about: str, tables: Mapping[str, Any], cores: str = "one core"
) -> None:
    """Write the results where the documentation's benchmark page finds them."""
    RESULTS.mkdir(exist_ok=True)
    results = {
        "title": title,
        "about": about,
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {cores}, Python {platform.python_version()}",
        **tables,
    }
    write_atomic(RESULTS / f"{name}.json", json.dumps(results, indent=1) + "\n")


def keep_beside(name: str, title: str, about: str, tables: Mapping[str, Rows]) -> None:
    """Write tables as :func:`keep` does; tables of the last time that are not made anew stay."""
    kept = RESULTS / f"{name}.json"
    last = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    rest = {key: rows for key, rows in last.items() if isinstance(rows, list)}
    keep(name, title, about, {**rest, **tables})


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
