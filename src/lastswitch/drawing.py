"""One look for every figure: colours, text sizes, saving.

The palette is Okabe and Ito's, made to stay distinct under the common colour-vision deficiencies.
Matplotlib is imported on use.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._atomic import write_atomic
from lastswitch.errors import FileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours in the order arms and policies take them.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
#: What is not the subject of a figure: axes, grids, reference lines.
INK, MUTED, FAINT = "#222222", "#6B6B6B", "#DDDDDD"

_STYLE: dict[str, Any] = {
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "svg.hashsalt": "lastswitch",  # the same figure gives the same bytes
    "pdf.fonttype": 42,
}


def colour(index: int) -> str:
    """Return the colour of the ``index``-th arm or policy.

    Examples
    --------
    >>> colour(0) == colour(len(PALETTE))
    True
    """
    return PALETTE[index % len(PALETTE)]


@contextmanager
def house_style() -> Iterator[None]:
    """Draw inside this context to get the project's look, whatever the caller's settings."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE, "backend": mpl.get_backend()}
    with mpl.rc_context(settings):
        yield


def save_figure(
    figure: Figure, stem: str | Path, formats: Sequence[str] = ("png", "svg", "pdf")
) -> list[Path]:
    """Save ``figure`` as ``stem.png``, ``stem.svg`` and ``stem.pdf``, without a time stamp."""
    written = []
    for suffix in formats:
        path = Path(f"{stem}.{suffix}")
        stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
        content = io.BytesIO()
        with house_style():
            figure.savefig(content, format=suffix, metadata=stamp)
        written.append(write_atomic(path, content.getvalue()))
    return written


def check_figure_path(path: str | Path) -> Path:
    """Refuse, before anything is drawn, a path no figure can be written to.

    Examples
    --------
    >>> check_figure_path("radio.gif")
    Traceback (most recent call last):
    lastswitch.errors.FileError: a figure must end in .png, .svg or .pdf, got 'radio.gif'.
    """
    file = Path(path)
    if file.suffix not in (".png", ".svg", ".pdf"):
        raise FileError(f"a figure must end in .png, .svg or .pdf, got {str(path)!r}.")
    if not file.parent.is_dir():
        raise FileError(f"{file} cannot be written: the folder {file.parent} does not exist.")
    return file
