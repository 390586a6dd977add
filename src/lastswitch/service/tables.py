"""The tables, and what the database itself refuses.

No arm is played twice in a round of a subject, nothing is told twice, and no line of the journal
is ever changed: whatever a worker does wrong, these hold.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

#: What release 0.2, which knows no migrations, reads in ``meta``: it works with "1" alone.
SCHEMA = "2"

metadata = MetaData()
_Seq = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows by Integer alone

meta = Table("meta", metadata, Column("name", Text, primary_key=True), Column("value", Text))

rotation = Table(
    "rotation",
    metadata,
    Column("name", Text, primary_key=True),
    Column("at", Double, nullable=False),
)

version = Table(
    "version",
    metadata,
    Column("rotation", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("spec", Text, nullable=False),
    Column("arms", Text, nullable=False),
)

subject = Table(
    "subject",
    metadata,
    Column("rotation", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("guard", Integer, nullable=False),
    Column("next", BigInteger),
    Column("state", Text, nullable=False),
    Column("recent", Text, nullable=False),
    Column("open_id", Text),
)

decision = Table(
    "decision",
    metadata,
    Column("id", Text, primary_key=True),
    Column("rotation", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("subject", Text, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("arms", Text, nullable=False),
    Column("taus", Text, nullable=False),
    Column("propensity", Double, nullable=False),
    Column("by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("asked", Double, nullable=False),
    Column("until", Double),
    Column("due", Double),
    Column("reward", Text),
    Column("told", Boolean, nullable=False),
    Column("would", Text),
    Column("digest", Text, nullable=False),
    CheckConstraint("status IN ('offered', 'played', 'rewarded', 'lapsed', 'cancelled')"),
    CheckConstraint("(status = 'rewarded') = (reward IS NOT NULL)"),
    CheckConstraint("propensity >= 0 AND propensity <= 1"),
)
_PLAYED = text("status IN ('played', 'rewarded')")
Index(
    "one_play_a_round",
    *(decision.c.rotation, decision.c.subject, decision.c.round),
    unique=True,
    sqlite_where=_PLAYED,
    postgresql_where=_PLAYED,
)
_DUE = text("status = 'played' AND due IS NOT NULL")
Index("rewards_due", decision.c.due, sqlite_where=_DUE, postgresql_where=_DUE)

#: Keys of requests that were answered with an offer that stood already.
alias = Table(
    "alias",
    metadata,
    Column("id", Text, primary_key=True),
    Column("decision", Text, nullable=False),
    Column("digest", Text, nullable=False),
)

journal = Table(
    "journal",
    metadata,
    Column("seq", _Seq, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("rotation", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("subject", Text, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("arms", Text, nullable=False),
    Column("taus", Text, nullable=False),
    Column("propensity", Double, nullable=False),
    Column("by", Text, nullable=False),
    Column("would", Text),
    Column("reward", Text),
    Column("told", Boolean),
    UniqueConstraint("id", "kind", name="nothing_told_twice"),
    CheckConstraint("kind IN ('offer', 'play', 'reward', 'cancel', 'lapse')"),
    Index("journal_by_rotation", "rotation", "seq"),
)

key = Table(
    "key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False),
    Column("writes", Boolean, nullable=False),
    Column("rotation", Text),
    Column("label", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("revoked", Double),
)

#: What learners had heard up to a line of the journal.
snapshot = Table(
    "snapshot",
    metadata,
    Column("rotation", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("body", Text, nullable=False),
)

#: What changes as decisions are made.
PLAYING = (subject, decision, alias, journal)

#: The journal is append-only, whoever asks. On PostgreSQL, rows that are not as they were read end
#: a transaction from within.
GUARDS = {
    "sqlite": [
        f"CREATE TRIGGER journal_keeps_{verb} BEFORE {verb} ON journal "
        "BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
        for verb in ("update", "delete")
    ],
    "postgresql": [
        "CREATE FUNCTION journal_keeps() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the journal is append-only'; END $$",
        "CREATE TRIGGER journal_keeps BEFORE UPDATE OR DELETE ON journal "
        "FOR EACH ROW EXECUTE FUNCTION journal_keeps()",
        "CREATE TRIGGER journal_keeps_all BEFORE TRUNCATE ON journal "
        "FOR EACH STATEMENT EXECUTE FUNCTION journal_keeps()",
        "CREATE FUNCTION rows_were(changed bigint, wanted bigint) RETURNS void "
        "LANGUAGE plpgsql AS $$ BEGIN IF changed <> wanted THEN RAISE EXCEPTION "
        "'another worker came first' USING ERRCODE = 'serialization_failure'; END IF; END $$",
    ],
}
