"""A station to look at, with made-up listeners: ``lastswitch serve --demo``.

Two rotations are served from a folder that is removed again: *radio*, planned on its curves and
there to be edited, and *station*, whose learner is not told what its songs pay and learns it from
listeners who come and go.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from lastswitch._utils.random import stream
from lastswitch.errors import LastSwitchError
from lastswitch.model.bandit import Bandit
from lastswitch.model.files import load_bandit
from lastswitch.service.client import Client
from lastswitch.service.keys import make_key
from lastswitch.service.rotations import put_rotation
from lastswitch.service.running import Prepared, prepare

LISTENERS = 40
#: Seconds between rounds, and the share of rewards that never come.
PACE, LOST = 1.0, 0.05


@contextlib.contextmanager
def demo(url: str) -> Iterator[Prepared]:
    """Give what is to be served at ``url``; listeners come as soon as it answers there."""
    with tempfile.TemporaryDirectory(prefix="lastswitch-demo-") as folder:
        file = Path(folder) / "radio.toml"
        text = files("lastswitch").joinpath("starters", "radio.toml").read_text(encoding="utf-8")
        file.write_text(f'{text}\n[serve]\ndecide = "plan"\n', encoding="utf-8")
        bandit, prepared = load_bandit(file), prepare([file], synchronous="NORMAL")
        put_rotation(prepared.database, "station", station(bandit))
        key, ended = make_key(prepared.database, label="listeners"), threading.Event()
        settings = (bandit, url, key, ended)
        crowd = threading.Thread(target=_come_and_go, args=settings, daemon=True)
        crowd.start()
        try:
            yield prepared
        finally:
            ended.set()


def station(bandit: Bandit) -> dict[str, Any]:
    """Return a rotation of a bandit's arms that is told nothing of what they pay.

    Examples
    --------
    >>> from lastswitch.model.curves import constant
    >>> station(Bandit([constant(0.5)], names=["jazz"]))["arms"]
    [{'name': 'jazz'}]
    """
    serve = {"decide": "learner", "holdout": 0.25, "window": "2min", "missing": 0.0}
    return {"arms": [{"name": name} for name in bandit.names], "serve": serve}


def listen(bandit: Bandit, client: Client, rng: np.random.Generator) -> None:
    """Let some listeners hear a round, and tell what it was to them."""
    present = [f"listener-{k:02d}" for k in range(LISTENERS) if rng.random() < 0.6]
    pulls = client.ask_many(present)
    kept = [pull for pull in pulls if rng.random() >= LOST]
    client.tell_many((pull.id, bandit.sample(pull.arm, pull.tau, rng)) for pull in kept)


def _come_and_go(bandit: Bandit, url: str, key: str, ended: threading.Event) -> None:
    rng, client = stream(0, "demo"), None
    while not ended.wait(PACE):
        with contextlib.suppress(LastSwitchError):  # it is starting, or stopping
            client = client or Client(url, key, rotation="station")
            listen(bandit, client, rng)
