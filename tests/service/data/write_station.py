"""Write the databases that this folder keeps, with the release that is to have written them.

In a checkout of that release, whose tests lend their PostgreSQL server::

    PYTHONPATH=src:tests/service python .../tests/service/data/write_station.py FOLDER

leaves ``station.sqlite`` and ``station.sql``, a dump of PostgreSQL, in the folder: learners and
cycles, rewards told, missing and due, offers that stand, lapse and are cancelled, keys of requests
and keys to get in. The fixtures here were written by release 0.2.
"""

import random
import subprocess
import sys
from pathlib import Path

from service_cases import CYCLE, LEARNER, Database, Now, Postgres, worker_on

from lastswitch.service.keys import make_key, revoke_key
from lastswitch.service.operations import Ask, Cancel, Confirm, Tell
from lastswitch.service.rotations import put_rotation


def write(database):
    """Let some weeks pass at a station."""
    draw, now = random.Random(7), Now(1_700_000_000.0)
    database.create()
    put_rotation(database, "station", LEARNER)
    put_rotation(database, "meals", CYCLE)
    make_key(database, label="first")
    revoke_key(database, make_key(database, writes=False, label="second").split("_")[1])
    with worker_on(database, clock=now) as worker:
        for number in range(120):
            now.at += 400.0
            if number == 60:
                more = [*LEARNER["arms"], {"name": "zydeco, “live”"}]
                put_rotation(database, "station", LEARNER | {"arms": more})
                worker.do([])
            rotation = draw.choice(["station", "station", "meals"])
            subject = draw.choice(["ann", "bob", "çelik", "d'Arc"])
            name, later = f"{number:026d}", draw.random() < 0.4
            ask = Ask(rotation, name, True, subject, confirm=not later, digest=f"{number}")
            ((status, body),) = worker.do([ask])
            if status == 200:  # an offer that stood: the key of this request stands for it
                name = body["id"]
            then = draw.random()
            if later and then < 0.6:
                worker.do([Cancel(name) if then < 0.2 else Confirm(name)])
            if draw.random() < 0.7:
                worker.do([Tell(name, draw.random())])


def main():
    """Write both."""
    folder = Path(sys.argv[1])
    (folder / "station.sqlite").unlink(missing_ok=True)
    database = Database(folder / "station.sqlite")
    write(database)
    database.close()
    (folder / "station.sqlite.turn").unlink()
    server = Postgres().start()
    try:
        url = server.url()
        database = Database(url)
        write(database)
        database.close()
        dump = [server.bin / "pg_dump", "--no-owner", "--inserts", "--rows-per-insert=500", url]
        found = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    finally:
        server.close()
    lines = [line for line in found.splitlines() if not line.startswith(("\\", "--"))]
    (folder / "station.sql").write_text("\n".join(filter(None, lines)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
