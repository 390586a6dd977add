"""Fill the benchmarks page from the results that are kept with the code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

MARKER = "<!-- benchmarks -->"
SOURCE = Path(__file__).parents[2] / "benchmarks" / "page.py"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Put the tables where the page has its marker."""
    if MARKER not in markdown:
        return markdown
    spec = importlib.util.spec_from_file_location("benchmarks_page", SOURCE)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return markdown.replace(MARKER, module.page())
