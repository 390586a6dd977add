"""Draw the figures of the documentation into this folder: ``python docs/assets/draw.py``."""

from __future__ import annotations

from pathlib import Path

from lastswitch import figures
from lastswitch.drawing import save_figure

HERE = Path(__file__).parent

if __name__ == "__main__":
    save_figure(figures.figure_1(), HERE / "figure-1", formats=["svg"])
