"""Asking and telling: the interface of every policy, its subjects, its books and its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastswitch._utils.lazy import attach

if TYPE_CHECKING:
    from lastswitch.learning.policy.ledger import Pull as Pull
    from lastswitch.learning.policy.policy import (
        ONE_PLAY as ONE_PLAY,
        REGISTRY as REGISTRY,
        Policy as Policy,
    )
    from lastswitch.learning.policy.saving import load_policy as load_policy
    from lastswitch.learning.policy.tracks import Mask as Mask, Track as Track
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "ledger": ["Pull"],
            "policy": ["ONE_PLAY", "REGISTRY", "Policy"],
            "saving": ["load_policy"],
            "tracks": ["Mask", "Track"],
        },
    )
