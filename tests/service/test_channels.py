"""What a worker reads and writes is the same whichever way, and refused to whoever comes second."""

import random
from zlib import crc32

import pytest
from sqlalchemy import select

from lastswitch.service import tables
from lastswitch.service.database import Database, is_conflict
from lastswitch.service.store import (
    Changes,
    Channel,
    ConflictError,
    Wanted,
    open_channel,
)

NOTHING = Changes([], [], [], [], [], [])
MARKS = [pytest.param("SQLite"), pytest.param("PostgreSQL", marks=pytest.mark.service)]


@pytest.fixture(params=MARKS)
def place(request, tmp_path):
    """Give an empty database of either kind."""
    url = tmp_path / "a.sqlite"
    if request.param == "PostgreSQL":
        url = request.getfixturevalue("postgres").url()
    found = Database(url)
    found.create()
    yield found
    found.close()


@pytest.fixture
def channel(place):
    """Give the database's own channel."""
    found = open_channel(place)
    yield found
    found.close()


def subject(name, rotation="r", open_id=None):
    """Return a subject's row."""
    row = {"rotation": rotation, "name": name, "guard": 0, "next": None}
    return {**row, "state": "[1, -2]", "recent": "[]", "open_id": open_id}


def moved(name, was=0, rotation="r"):
    """Return what becomes of a subject."""
    row = {"guard": was + 1, "next": 2**40, "state": "[2]", "recent": "[[1, [0]]]"}
    return {**row, "open_id": None, "its_rotation": rotation, "its_name": name, "was": was}


def decision(name, who, status="offered", rotation="r"):
    """Return a decision's row."""
    row = {
        "id": name,
        "rotation": rotation,
        "version": 1,
        "subject": who,
        "round": crc32(name.encode()),
    }
    row |= {"arms": "[0]", "taus": "[3]", "propensity": 0.1, "by": "policy", "reason": "“so”"}
    row |= {"status": status, "asked": 1e9 + 1 / 3, "until": None, "due": None}
    reward = "[1.0]" if status == "rewarded" else None
    return row | {"reward": reward, "told": True, "would": None, "digest": "d"}


def settled(name, was="offered"):
    """Return what becomes of a decision."""
    row = {"status": "rewarded", "until": None, "due": 0.1, "reward": "[null]", "told": False}
    return row | {"its_id": name, "was": was}


def line(name, kind="play"):
    """Return a line of the journal."""
    row = {"at": 0.1, "rotation": "r", "kind": kind, "id": name, "version": 1, "subject": "ann"}
    row |= {"round": 3, "arms": "[0]", "taus": "[1]", "propensity": 1.0, "by": "policy"}
    return row | {"would": None, "reward": None, "told": None}


def put(channel, held, **rows):
    """Write rows, in a turn of our own or when it is our turn."""
    changes = NOTHING._replace(**rows)
    if not held:
        channel.write(changes)
        return
    with channel.turn():
        channel.write_held(changes)


@pytest.mark.parametrize("held", [False, True])
def test_what_is_written_is_read(place, channel, held):
    """New rows and changed ones, with their numbers whole; lines keep their order."""
    names = ["ann", "bob", "c'; --", "d%s?"]
    put(
        channel,
        held,
        new_subjects=[subject(name, open_id=f"of {name}") for name in names],
        new_decisions=[decision(f"of {name}", name) for name in names],
        aliases=[{"id": "k", "decision": "of bob", "digest": "x"}],
        lines=[line(name) for name in reversed(names)],
    )
    put(channel, held, moved=[moved("ann"), moved("d%s?")], settled=[settled("of ann")])
    found = channel.fetch(Wanted(["of ann"], ["k"], [("r", "d%s?"), ("r", "nobody")]))
    rows = {row[0]: list(row) for row in found.decisions}
    assert set(rows) == {"of ann", "of bob"}  # that of bob stands for the key
    expected = decision("of ann", "ann") | settled("of ann")
    assert rows["of ann"] == [expected[column.name] for column in tables.decision.columns]
    assert [list(row) for row in found.aliases] == [["k", "of bob", "x"]]
    assert [list(row) for row in found.subjects] == [
        ["r", "d%s?", 1, 2**40, "[2]", "[[1, [0]]]", None]
    ]
    with place.reading() as connection:
        ids = connection.execute(select(tables.journal.c.id).order_by(tables.journal.c.seq))
        assert list(ids.scalars()) == list(reversed(names))


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    "late",
    [
        {"moved": [moved("bob"), moved("ann", was=4)]},
        {"moved": [moved("nobody")]},
        {"settled": [settled("of ann", was="played")]},
        {"new_subjects": [subject("ann")]},
        {"lines": [line("twice")]},
    ],
    ids=["changed", "gone", "settled", "there", "told"],
)
def test_whoever_comes_second_writes_nothing(place, channel, held, late):
    """One row that is not as it was refuses them all; the same without it is written."""
    rows = [subject("ann", open_id="of ann"), subject("bob")]
    put(channel, False, new_subjects=rows, new_decisions=[decision("of ann", "ann")])
    put(channel, False, lines=[line("twice")])
    fresh = {"aliases": [{"id": "k", "decision": "of ann", "digest": "x"}]}
    with pytest.raises((ConflictError, *place.errors)) as refused:
        put(channel, held, **fresh, **late)
    assert isinstance(refused.value, ConflictError) or is_conflict(refused.value)
    assert channel.fetch(Wanted([], ["k"], [("r", "bob")])).aliases == []
    put(channel, held, **fresh)
    assert len(channel.fetch(Wanted([], ["k"], [])).aliases) == 1


def test_the_quick_way_brings_what_plain_selects_do(place, channel):
    """Random rows, random wants: a database's own channel finds what SQLAlchemy's finds."""
    draw, plain = random.Random(1), Channel(place)
    assert type(channel) is not Channel
    kinds = ("offered", "played", "rewarded", "lapsed", "cancelled")
    who = [(rotation, f"s{n}") for rotation in ("q", "r") for n in range(12)]
    made = [
        decision(f"d{n}", name, draw.choice(kinds), rotation)
        for n in range(40)
        for rotation, name in [draw.choice(who)]
    ]
    standing = {
        (row["rotation"], row["subject"]): row["id"] for row in made if row["status"] == "offered"
    }
    put(
        channel,
        False,
        new_subjects=[
            subject(name, rotation, standing.get((rotation, name))) for rotation, name in who
        ],
        new_decisions=made,
        aliases=[
            {"id": f"k{n}", "decision": f"d{draw.randrange(40)}", "digest": "x"} for n in range(9)
        ],
    )
    sizes = set()
    for _ in range(60):
        wanted = Wanted(
            draw.sample([f"d{n}" for n in range(45)], draw.randrange(4)),
            draw.sample([f"k{n}" for n in range(12)], draw.randrange(3)),
            draw.sample([*who, ("r", "nobody")], draw.randrange(4)),
        )
        found, expected = (
            [sorted(map(tuple, rows)) for rows in way.fetch(wanted)] for way in (channel, plain)
        )
        assert found == expected
        sizes.add(tuple(map(len, found)))
    assert len(sizes) > 10


@pytest.mark.parametrize("way", ["fetch", "write", "turn"])
def test_a_channel_goes_on_after_any_error(place, channel, way):
    """What broke within leaves nothing written, nothing locked, and the channel as good as new."""
    other = Channel(place)
    put(channel, False, new_subjects=[subject("ann")])
    nameless = Wanted([], [], [("r", "ann"), (object(), "ann")])
    broken = {"new_subjects": [subject("bob")], "aliases": [{"id": "k", "digest": "x"}]}
    with pytest.raises(place.errors):
        channel.fetch(nameless) if way == "fetch" else put(channel, way == "turn", **broken)
    put(other, False, new_subjects=[subject("eve")])
    put(channel, False, new_subjects=[subject("dan")])
    found = channel.fetch(Wanted([], [], [("r", name) for name in ("ann", "bob", "dan", "eve")]))
    assert {row[1] for row in found.subjects} == {"ann", "dan", "eve"}
