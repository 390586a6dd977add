"""``lastswitch serve``: decisions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lastswitch.service.database import Database
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
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name by which clients reach it; needed beyond loopback."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    rate: Annotated[
        float,
        typer.Option(
            min=0,
            help="Requests (or entries of a batch) a second and key, twice as many at once; 0 for "
            "no limit.",
        ),
    ] = 0.0,
    subjects: Annotated[
        int, typer.Option(min=1, help="Subjects of a rotation that does not set its own limit.")
    ] = 1_000_000,
    keys: Annotated[
        bool,
        typer.Option(
            "--keys/--no-keys",
            help="Ask for a key, always; or let everybody do everything, on loopback only.",
        ),
    ] = True,
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
    from lastswitch._utils.extras import load_extra

    needed = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "msgspec", "prometheus_client")
    for module in needed:
        load_extra(module, "serve")
    if check:
        from lastswitch.cli.replay import agrees

        return agrees(database or _beside(rotation))
    from lastswitch.service.gate import Limits
    from lastswitch.service.running import check_access, listen, prepare, run

    if new_key is not None or revoke is not None:
        _change_keys(rotation or [], database, migrate, new_key, only, revoke)
        return None
    check_access(host, name or (), keys=keys)
    at = listen(host, port)  # before anything is made: who has the address gets no key of ours
    settings: dict[str, Any] = {"at": at, "host": host, "keys": keys, "verbose": verbose}
    if demo:
        from lastswitch.service.demo import demo as demo_of

        with demo_of(f"http://{host}:{port}") as prepared:
            _announce(prepared, host, port)
            run(prepared, synchronous="NORMAL", **settings)
        return None
    prepared = prepare(rotation or [], database, synchronous, migrate)
    _say_copy(prepared.database)
    _announce(prepared, name[0] if name else host, port)
    run(
        prepared,
        workers=workers,
        names=name or (),
        limits=Limits(rate=rate, subjects=subjects),
        synchronous=synchronous,
        **settings,
    )
    return None


def _change_keys(
    files: list[Path],
    where: str | None,
    migrate: bool,
    new: str | None,
    only: str | None,
    revoke: str | None,
) -> None:
    """Make or revoke a key, and nothing else: changed files stay as they are served."""
    from lastswitch._utils.checks import check_choice
    from lastswitch.errors import ServiceError
    from lastswitch.service.keys import make_key, revoke_key
    from lastswitch.service.rotations import has_rotation
    from lastswitch.service.running import open_database

    if new is not None:
        check_choice("--new-key", new, ("read", "write"), ServiceError)
    database = open_database(files, where, migrate=migrate)
    _say_copy(database)
    try:
        if revoke is not None:
            revoke_key(database, revoke)
        if new is None:
            return
        there = only is None or only in [file.stem for file in files]
        if not there and not has_rotation(database, str(only)):
            raise ServiceError(f"--only {only}: there is no such rotation; no key was made.")
        typer.echo(make_key(database, writes=new == "write", rotation=only))
    finally:
        database.close()


def _say_copy(database: Database) -> None:
    """Say that the database of an earlier release was brought up to date, and where its copy is."""
    if database.copy is not None:
        typer.echo(f"brought up to date; the database as it was: {database.copy}", err=True)


def _announce(prepared: Prepared, host: str, port: int) -> None:
    """Say where the studio is; a key just made is behind the address, which no server sees."""
    opened = ""
    if prepared.key is not None:
        typer.echo(f"first key, shown only now: {prepared.key}")
        opened = f"#key={prepared.key}"
    typer.echo(f"studio: http://{host}:{port}/{opened}")
    if prepared.key is None:
        typer.echo("(add #key= and a key you have; --new-key write makes one)")


def _beside(files: list[Path] | None) -> str:
    from lastswitch.errors import ServiceError

    if not files:
        raise ServiceError("say which database to verify: --database, or the rotation's file.")
    return str(files[0].with_suffix(".sqlite"))
