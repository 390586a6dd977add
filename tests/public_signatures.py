"""Every public name and signature, as a text to compare with what was promised.

After changing one on purpose run ``make signatures``, and commit the result with the change.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

import lastswitch

FILE = Path(__file__).with_name("public_signatures.txt")
#: Packages that say what they offer, and modules whose own functions and classes are all public.
PACKAGES = (
    "lastswitch",
    "lastswitch.experiments",
    "lastswitch.learning",
    "lastswitch.logs",
    "lastswitch.planning",
)
MODULES = (
    "lastswitch.model.curves",
    "lastswitch.errors",
    "lastswitch.model.figures",
    "lastswitch.model.files",
    "lastswitch.model.instances",
    "lastswitch.rules",
    "lastswitch.testing",
)


def public_signatures() -> str:
    """Return one line per public name: what it is called with, and a class's methods below it."""
    lines: list[str] = []
    seen: list[object] = []
    for name in (*PACKAGES, *MODULES):
        module = import_module(name)
        lines.append(f"# {name}")
        for public in _names(module):
            value = getattr(module, public)
            if any(value is other for other in seen):  # told above
                lines.append(public)
            else:
                seen.append(value)
                lines += _describe(public, value)
        lines.append("")
    return "\n".join(lines)


def _names(module: ModuleType) -> list[str]:
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    )


def _describe(name: str, value: object) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"{name}{_signature(value)}"
        return
    yield f"class {name}{'' if issubclass(value, Exception) else _signature(value)}"
    for member in sorted(dir(value)):
        if member.startswith("_") or _is_told_elsewhere(value, member):
            continue
        found = inspect.getattr_static(value, member)
        if isinstance(found, property | cached_property):
            yield f"    {member}"
        elif callable(getattr(value, member)):
            yield f"    {member}{_signature(getattr(value, member))}"


def _is_told_elsewhere(kind: type, member: str) -> bool:
    """Tell whether a member is inherited from a public class, or from one of Python's own."""
    owner = next(base for base in kind.__mro__ if member in vars(base))
    if owner is kind or not owner.__module__.startswith("lastswitch"):
        return owner is not kind
    heirs = kind.__mro__[1 : kind.__mro__.index(owner) + 1]
    return any(hasattr(lastswitch, heir.__name__) for heir in heirs)


def _signature(value: object) -> str:
    if not inspect.isroutine(value) and not inspect.isclass(value):
        return ""
    text = str(inspect.signature(value))
    text = re.sub(r"ForwardRef\(('[^']*')(, [^)]*)?\)", r"\1", text)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are strings until read


if __name__ == "__main__":
    FILE.write_text(public_signatures(), encoding="utf-8")
    print(f"wrote {FILE}")
