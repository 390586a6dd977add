"""Let docstrings written for a terminal read well on a page.

Docstrings use a few reStructuredText habits (roles, ``::`` before a literal block). The pages are
Markdown, so these are translated when the API reference is built.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

#: The LaTeX that occurs in docstrings, as the characters it stands for.
SYMBOLS = {
    r"\mathbb{Z}": "ℤ",
    r"\tilde r": "r̃",
    r"\tilde{r}": "r̃",
    r"\boldsymbol": "",
    r"\btau": "τ",
    r"\left": "",
    r"\right": "",
    r"\mid": "|",
    r"\mu": "μ",
    r"\tau": "τ",
    r"\alpha": "α",
    r"\lambda": "λ",
    r"\sigma": "σ",
    r"\sum": "Σ",
    r"\sqrt": "√",
    r"\log": "log",
    r"\max": "max",
    r"\min": "min",
    r"\le": "≤",
    r"\ge": "≥",
    r"\cdot": "·",
    r"\infty": "∞",
    r"\in": "∈",
    r"\,": " ",
    r"\ ": " ",
}


def as_markdown(text: str) -> str:
    """Return ``text`` with roles, maths and literal blocks in Markdown's own words."""
    text = re.sub(r":math:`([^`]*)`", lambda match: f"`{_plain(match[1])}`", text, flags=re.S)
    text = re.sub(r":(?:class|func|meth|mod|data|attr):`~?([^`]*)`", _name, text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    return re.sub(r"^(.*?)\s*::$", _literal, text, flags=re.M)


def _plain(latex: str) -> str:
    for written, meant in SYMBOLS.items():
        latex = latex.replace(written, meant)
    return re.sub(r"\s+", " ", latex).replace("{", "").replace("}", "").strip()


def _name(match: re.Match[str]) -> str:
    return f"`{match[1].removeprefix('lastswitch.')}`"


def _literal(match: re.Match[str]) -> str:
    return f"{match[1]}:" if match[1] else ""


class MarkdownDocstrings(griffe.Extension):
    """Translate every docstring as it is collected."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of ``obj`` in place."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
