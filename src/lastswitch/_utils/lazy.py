"""Names that load on use: a package that lists what it offers costs nothing to import."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def attach(
    package: str,
    homes: Mapping[str, Sequence[str]],
    modules: Sequence[str] = (),
    extras: Sequence[str] = (),
    moved: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names load on use.

    Type checkers cannot follow this, so the package repeats the imports for them under
    ``if TYPE_CHECKING:``; a test keeps the two in step.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        Which module (relative to the package) holds which names.
    modules
        Modules of the package that load on use too, and are no part of ``__all__``; one further
        down, such as ``"model.curves"``, is offered by its last name.
    extras
        The same, for modules that need an optional dependency; ``dir`` leaves them out, since
        ``help`` loads what it lists.
    moved
        Which module holds which names that the package used to offer itself: they work, with a
        ``DeprecationWarning`` that says where they are now.

    Examples
    --------
    >>> get, listing, names = attach("lastswitch", {"model.curves": ["constant"]}, ["model.states"])
    >>> get("states").__name__, names
    ('lastswitch.model.states', ['constant'])
    """
    home, left = (
        {name: f"{package}.{module}" for module, names in told.items() for name in names}
        for told in (homes, moved or {})
    )

    offered = {module.rpartition(".")[2]: f"{package}.{module}" for module in (*modules, *extras)}
    hidden = {module.rpartition(".")[2] for module in extras}

    def getattribute(name: str) -> Any:
        if name in home:
            value = getattr(import_module(home[name]), name)
        elif name in offered:
            value = import_module(offered[name])
        elif name in left:
            warnings.warn(
                f"{package}.{name} is now {left[name]}.{name}; the old name will go.",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(import_module(left[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *offered} - hidden)

    return getattribute, directory, sorted(home)
