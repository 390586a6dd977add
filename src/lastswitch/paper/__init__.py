"""The paper, Laforgue et al. (2022): its settings, figures, Table 1, findings, report and bounds.

Nothing outside this package imports it but the command that runs it: what is general lives in the
rest of the library, what belongs to one paper lives here. Names load on use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lastswitch.paper import theory
    from lastswitch.paper.figures import figure_1
    from lastswitch.paper.reproduction import Reproduction, reproduce
    from lastswitch.paper.settings import PaperExperiment, paper_experiments

_HOMES = {
    "figure_1": "figures",
    **dict.fromkeys(["Reproduction", "reproduce"], "reproduction"),
    **dict.fromkeys(["PaperExperiment", "paper_experiments"], "settings"),
}

__all__ = [
    "PaperExperiment",
    "Reproduction",
    "figure_1",
    "paper_experiments",
    "reproduce",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name == "theory":
        return import_module(f"{__name__}.theory")  # which also sets the attribute
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
