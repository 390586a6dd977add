"""One look for every figure: colours, text sizes, saving.

The palette is Okabe and Ito's, made to stay distinct under the common colour-vision deficiencies.
Matplotlib is imported on use.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastswitch._utils.atomic import write_atomic
from lastswitch._utils.checks import shown
from lastswitch.errors import FileError, InputTypeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours in the order arms and policies take them.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
#: What is not the subject of a figure: axes, grids, reference lines.
INK, MUTED, FAINT = "#222222", "#6B6B6B", "#DDDDDD"

_FONT = "DejaVu Sans"  # comes with Matplotlib: most alphabets, no Chinese, Japanese or Korean
#: Fonts that common systems have for what it lacks.
_OTHER_SCRIPTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "Noto Sans KR",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "IPAGothic",
    "NanumGothic",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
    "Noto Emoji",
    "Nirmala UI",
    "Segoe UI Symbol",
    "Arial Unicode MS",
)

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


@cache
def fonts() -> tuple[str, ...]:
    """Return the fonts every text is drawn in: the first of them that has the character.

    Text that exists before the house style does, such as the title of a caller's own axes, needs
    them said: ``ax.set_title(legible(name), fontfamily=fonts())``.
    """
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return (_FONT, *(name for name in _OTHER_SCRIPTS if name in installed))


@cache
def _characters() -> frozenset[int]:
    """Return every character that one of :func:`fonts` can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = [get_font(findfont(FontProperties(family=[name]))).get_charmap() for name in fonts()]
    return frozenset().union(*known)


def legible(text: str, limit: int | None = None) -> str:
    r"""Return a name as a figure can draw it: every name given by a caller goes through here.

    A dollar is a dollar, not the beginning of a formula; a character that no installed font has
    is spelt by its sound or its number; what is longer than ``limit`` characters is cut.

    Examples
    --------
    >>> print(legible("$5 off $10"), legible("two\nlines"), legible("very long", limit=5))
    \$5 off \$10 two lines very…
    """
    drawn = "".join(
        char if char.isprintable() and ord(char) in _characters() else _spelt(char)
        for char in unicodedata.normalize("NFC", text)
    )
    if drawn != text:
        drawn = re.sub(" +", " ", drawn).strip(" ")
    if limit is not None and len(drawn) > limit:
        drawn = drawn[: limit - 1] + "…"
    return drawn.replace("$", r"\$")


def _spelt(char: str) -> str:
    r"""Return letters for a character that cannot be drawn.

    Examples
    --------
    >>> _spelt("あ"), _spelt("한"), _spelt("音"), _spelt("\ufe0f")
    ('a ', 'han ', 'U+97F3 ', '')
    """
    if char.isspace() or unicodedata.category(char) == "Cc":
        return " "
    if unicodedata.category(char) in (
        "Cf",
        "Mn",
    ):  # joins and marks, which have no look of their own
        return ""
    name = unicodedata.name(char, "")
    _, letter, sound = name.rpartition("LETTER ")
    _, syllable, spoken = name.rpartition("SYLLABLE ")
    if letter or syllable:
        return f"{(sound if letter else spoken).lower()} "
    if unicodedata.category(char) == "So":  # signs and emoji, named by what they show
        return f"({name.lower()}) "
    return f"U+{ord(char):04X} "


@contextmanager
def house_style() -> Iterator[None]:
    """Draw inside this context to get the project's look, whatever the caller's settings."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {**mpl.rcParamsDefault, **_STYLE, "backend": mpl.get_backend()}
    settings["font.family"] = list(fonts())
    with mpl.rc_context(settings):
        yield


def new_figure(figure: Figure | None, width: float, height: float) -> Figure:
    """Return the caller's ``figure``, or an empty one of that size in inches.

    Examples
    --------
    >>> new_figure(None, 7, 4).get_size_inches().tolist()
    [7.0, 4.0]
    """
    from matplotlib.figure import Figure, FigureBase

    if figure is None:
        return Figure(figsize=(width, height), layout="constrained")
    if not isinstance(figure, FigureBase):
        raise InputTypeError(
            f"figure must be a Matplotlib figure, got {shown(figure)}; to draw into axes, "
            "use the function that takes ax."
        )
    return figure


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the caller's ``ax``, or axes of a new figure of that size in inches.

    Examples
    --------
    >>> new_axes(None, 7, 4).get_figure().get_size_inches().tolist()
    [7.0, 4.0]
    """
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InputTypeError(
            f"ax must be Matplotlib axes, got {shown(ax)}; make some with plt.subplots()."
        )
    return ax


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
