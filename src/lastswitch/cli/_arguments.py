"""Arguments that several commands take."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

#: The bandit a command works on.
BanditArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE|INSTANCE",
        help="A .toml or .json file, or an instance such as five-arms or pinwheel:2,4,8,8.",
        show_default=False,
    ),
]
