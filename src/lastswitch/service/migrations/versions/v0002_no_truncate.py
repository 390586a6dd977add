"""The journal refuses to be emptied as a whole, and release 0.2 refuses the database."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Guard against TRUNCATE, which PostgreSQL's triggers of rows do not see."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER journal_keeps_all BEFORE TRUNCATE ON journal "
            "FOR EACH STATEMENT EXECUTE FUNCTION journal_keeps()"
        )
    # Release 0.2 knows no migrations, and works only with schema 1.
    op.execute("UPDATE meta SET value = '2' WHERE name = 'schema'")
