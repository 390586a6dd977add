"""Fill in what was measured: the benchmarks page, and every figure a page marks in its text."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

MARKER = "<!-- benchmarks -->"
SOURCE = Path(__file__).parents[2] / "benchmarks" / "page.py"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Put tables where the page has its marker, and figures where its text has theirs."""
    spec = importlib.util.spec_from_file_location("benchmarks_page", SOURCE)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if MARKER in markdown:
        markdown = markdown.replace(MARKER, module.page())
    return str(module.with_figures(markdown))
