"""The paper, Laforgue et al. (2022): its settings, figures, Table 1, findings, report and bounds.

Nothing general imports this package, only the command that runs it: what is general lives in the
rest of the library, what belongs to one paper lives here. Names load on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.paper import theory as theory
    from lastswitch.paper.figures import figure_1 as figure_1
    from lastswitch.paper.reproduction import Reproduction as Reproduction, reproduce as reproduce
    from lastswitch.paper.settings import (
        PaperExperiment as PaperExperiment,
        paper_experiments as paper_experiments,
    )
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "figures": ["figure_1"],
            "reproduction": ["Reproduction", "reproduce"],
            "settings": ["PaperExperiment", "paper_experiments"],
        },
        modules=["theory"],
    )
