"""``lastswitch replay``: fold a journal again."""

from __future__ import annotations

from typing import Annotated

import typer


def replay(
    database: Annotated[
        str,
        typer.Argument(
            metavar="DATABASE",
            help="A SQLite file, or a URL of PostgreSQL.",
            show_default=False,
        ),
    ],
) -> int:
    """Fold the journal of a service again, and say whether its tables agree with it."""
    return agrees(database)


def agrees(where: str) -> int:
    """Print what a replay finds; return 0 if everything agrees, 1 if not."""
    from lastswitch._utils.extras import load_extra

    for module in ("sqlalchemy", "alembic"):
        load_extra(module, "serve")
    from lastswitch.service.replaying import replay_database

    found = replay_database(where)
    typer.echo(found)
    return 0 if found.agrees else 1
