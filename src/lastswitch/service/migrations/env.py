"""What Alembic runs to bring a database up to date: on the connection it was given."""

from alembic import context

from lastswitch.service import tables

if hasattr(context, "config"):  # Alembic is running this, and not merely somebody looking
    context.configure(
        connection=context.config.attributes["connection"], target_metadata=tables.metadata
    )
    with context.begin_transaction():
        context.run_migrations()
