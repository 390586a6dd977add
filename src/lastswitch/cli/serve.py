"""``lastswitch serve``: decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lastswitch.service.running import Prepared


def serve(
    rotation: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Rotations: bandits' files, with a table [serve] if need be.",
            show_default=False,
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="A file for SQLite, or a URL such as postgresql://localhost/station; by default "
            "a file beside the first rotation."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.")] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name by which clients reach it; needed beyond loopback."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    rate: Annotated[float, typer.Option(help="Requests a second and key; 0 for no limit.")] = 0.0,
    synchronous: Annotated[
        str, typer.Option(help="SQLite: FULL outlives a power cut, NORMAL is faster.")
    ] = "FULL",
    migrate: Annotated[
        bool,
        typer.Option(
            "--migrate",
            help="Bring a PostgreSQL database that an earlier release made up to date; make a copy "
            "first. SQLite files are copied and brought up to date without it.",
        ),
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Verify the database, and end.")] = False,
    new_key: Annotated[
        str | None,
        typer.Option(metavar="read|write", help="Print a new key, and end."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="With --new-key: the one rotation it is for.")
    ] = None,
    revoke: Annotated[
        str | None, typer.Option(metavar="NAME", help="Revoke the key ls_NAME_..., and end.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a station with made-up listeners; keeps nothing.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every request.")] = False,
) -> int | None:
    """Serve rotations over HTTP, with a page to see them: lastswitch serve station.toml."""
    from lastswitch._checks import check_choice, check_whole
    from lastswitch._extras import load_extra
    from lastswitch.errors import ServiceError

    needed = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "msgspec", "prometheus_client")
    for module in needed:
        load_extra(module, "serve")
    from lastswitch.service.gate import Limits
    from lastswitch.service.keys import make_key, revoke_key
    from lastswitch.service.running import prepare, run

    check_whole("--port", port, 1, ServiceError, 65535)
    check_whole("--workers", workers, 1, ServiceError, 64)
    if check:
        from lastswitch.cli.replay import agrees

        return agrees(database or _beside(rotation))
    if demo:
        from lastswitch.service.demo import demo as demo_of

        with demo_of(f"http://{host}:{port}") as prepared:
            _announce(prepared, host, port)
            run(prepared, host=host, port=port, synchronous="NORMAL", verbose=verbose)
        return None
    prepared = prepare(rotation or [], database, synchronous, migrate)
    if prepared.copy is not None:
        typer.echo(f"brought up to date; the database as it was: {prepared.copy}", err=True)
    if revoke is not None:
        revoke_key(prepared.database, revoke)
        return None
    if new_key is not None:
        check_choice("--new-key", new_key, ("read", "write"), ServiceError)
        typer.echo(make_key(prepared.database, writes=new_key == "write", rotation=only))
        return None
    _announce(prepared, host, port)
    run(
        prepared,
        host=host,
        port=port,
        workers=workers,
        names=name or (),
        limits=Limits(rate=rate),
        synchronous=synchronous,
        verbose=verbose,
    )
    return None


def _announce(prepared: Prepared, host: str, port: int) -> None:
    """Say where the studio is; a key just made is behind the address, which no server sees."""
    opened = ""
    if prepared.key is not None:
        typer.echo(f"first key, shown only now: {prepared.key}")
        opened = f"#key={prepared.key}"
    typer.echo(f"studio: http://{host}:{port}/{opened}")


def _beside(files: list[Path] | None) -> str:
    from lastswitch.errors import ServiceError

    if not files:
        raise ServiceError("say which database to verify: --database, or the rotation's file.")
    return str(files[0].with_suffix(".sqlite"))
