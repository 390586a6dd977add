"""Folding the journal again finds what disagrees with it."""

import sqlite3

import pytest
from service_cases import CYCLE, LEARNER, Database, ask, running

from lastswitch.cli import main
from lastswitch.service.replaying import replay_database
from lastswitch.service.rotations import Rotations


def wrong_in(where):
    """Return what a replay finds wrong."""
    return replay_database(str(where)).wrong


@pytest.fixture
def played(database):
    """Give a database in which subjects have played and offers stand."""
    with running(database, {"r": CYCLE, "l": LEARNER}) as client:
        for rotation in ("r", "l"):
            for _ in range(3):
                found = ask(client, "ann", rotation=rotation).json()
                client.post(f"/v1/decisions/{found['id']}/reward", json={"reward": 1})
            ask(client, "bob", rotation=rotation, confirm="later")
    return database.url.database


def test_what_the_service_leaves_agrees(played, capsys):
    """Rows, lines and snapshots agree, and the command says so."""
    found = replay_database(played)
    assert found.agrees
    assert (found.lines, found.decisions, found.subjects, found.snapshots) == (14, 8, 4, 1)
    assert main(["replay", played]) == 0
    assert "everything agrees" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE subject SET state = '[9, 9, 9]' WHERE name = 'ann' AND rotation = 'r'", "subject"),
        ("UPDATE subject SET open_id = NULL WHERE name = 'bob'", "subject"),
        ("DELETE FROM subject WHERE name = 'ann'", "is lost"),
        ("UPDATE decision SET reward = '[0.5]' WHERE status = 'rewarded'", "decision"),
        ("DELETE FROM decision WHERE status = 'offered'", "is lost"),
        ("UPDATE decision SET propensity = 0.5", "what was decided"),
        ("UPDATE decision SET by = 'holdout' WHERE rotation = 'l'", "what was decided"),
        ("UPDATE decision SET arms = '[1]' WHERE status = 'rewarded'", "what was decided"),
        ("UPDATE decision SET subject = 'eve' WHERE rotation = 'r'", "what was decided"),
        ("UPDATE decision SET taus = '[5]' WHERE status = 'rewarded'", "what was decided"),
        ("UPDATE decision SET round = round + 9", "what was decided"),
        ("UPDATE decision SET version = 2", "what was decided"),
        ("UPDATE decision SET would = '[1]'", "what was decided"),
        ("UPDATE decision SET asked = asked + 1", "asked"),
        ("UPDATE decision SET due = due + 1", "due"),
        ("UPDATE decision SET told = 0", "told"),
        (
            "DROP TRIGGER journal_keeps_update; UPDATE journal SET propensity = 0.5 "
            "WHERE kind = 'reward'",
            "otherwise than the line before",
        ),
        (
            "DROP TRIGGER journal_keeps_update; UPDATE journal SET by = 'x' WHERE kind = 'offer'",
            "what was decided",
        ),
        ("UPDATE version SET spec = replace(spec, 'cycle', 'bicycle')", "cannot be made"),
        ("UPDATE snapshot SET body = replace(body, '[0.0, 1.0]', '[0.0, 9.0]')", "its rewards"),
        ("UPDATE snapshot SET body = replace(body, '1.0', '7.0')", "snapshot"),
    ],
)
def test_what_was_changed_by_hand_is_found(played, statement, word, capsys):
    """Every table is held to the journal."""
    with sqlite3.connect(played) as connection:
        connection.executescript(statement)
    connection.close()
    assert any(word in line for line in wrong_in(played))
    assert main(["serve", "--check", "--database", played]) == 1
    assert "disagree" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["UPDATE journal SET at = 0", "DELETE FROM journal"])
def test_the_journal_cannot_be_changed(played, verb):
    """The database itself refuses."""
    with sqlite3.connect(played) as connection, pytest.raises(sqlite3.Error, match="append-only"):
        connection.execute(verb)
    connection.close()


def test_a_database_that_is_not_there_is_named(capsys):
    """Nothing is made of a wrong name."""
    assert main(["replay", "no/such.sqlite"]) == 2
    assert "no/such.sqlite" in capsys.readouterr().err


def test_what_was_heard_counts_once_however_often_a_worker_starts(played):
    """A start that the database broke off is begun again from nothing."""
    database = Database(played)
    rotations = Rotations(database)
    heard = []
    for _ in range(2):
        rotations.start()
        heard.append(rotations.decider("l").learner.news())
    database.close()
    assert heard[0] == heard[1]
    assert sum(map(sum, heard[0]["counts"])) == 3.0
