"""The schema of release 0.2: what every database holds that was made before there were migrations.

Nothing is done here; newer databases are made as a whole.
"""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Leave everything as it is."""
