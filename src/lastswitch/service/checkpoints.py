"""SQLite's log copied into its file beside the work, so that no request waits for it.

Left to itself, SQLite does it in the commit that makes the log too long: that one takes ten times
as long as others. Here a thread does most of it while others write, and holds the turn only for
what came meanwhile; then the log begins anew.
"""

from __future__ import annotations

import logging
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from lastswitch.service.database import Database

log = logging.getLogger("lastswitch.service")

#: Bytes of the log that are worth copying, and seconds between two looks.
WORTH, LOOK_EVERY = 8_000_000, 0.5
#: Pages after which a commit copies the log all the same, should this thread not keep up.
FALLBACK = 32_768


class Checkpoints:
    """Keeps the log of a SQLite database short; does nothing for PostgreSQL.

    Parameters
    ----------
    database
        The database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lastswitch-log", daemon=True)

    def start(self) -> None:
        """Begin to look after the log."""
        if self._database.sqlite:
            self._thread.start()

    def stop(self) -> None:
        """Leave the log as it is."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        path = Path(f"{self._database.url.database}-wal")
        while not self._ending.wait(LOOK_EVERY):
            try:
                if path.stat().st_size >= WORTH:
                    self._copy()
            except FileNotFoundError:
                continue
            except self._database.errors as error:  # next time, or the commit that has to
                log.warning("the log was not copied: %s", error)

    def _copy(self) -> None:
        with closing(self._database.engine.raw_connection()) as held:
            raw: Any = held.driver_connection
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            with self._database.taking_turns():
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
