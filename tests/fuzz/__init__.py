"""Random problems against plain references: a few in the suite, many by ``python -m fuzz``.

An area registers its checks in :data:`CHECKS`: functions of a random generator that make a problem,
hand it to the library, and assert what must hold. A seed that fails says so and can be run alone.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

Check = Callable[[np.random.Generator], None]

#: Modules with a table ``CHECKS`` from names to checks.
AREAS = ("planners",)


def checks() -> dict[str, Check]:
    """Return all checks by ``area.name``."""
    return {
        f"{area}.{name}": check
        for area in AREAS
        for name, check in import_module(f"fuzz.{area}").CHECKS.items()
    }


def run(name: str, seed: int) -> None:
    """Run one check on one seed; an error tells both."""
    try:
        checks()[name](np.random.default_rng([seed, *name.encode()]))
    except Exception as error:
        error.add_note(f"python -m fuzz {name} --seed {seed}")
        raise
