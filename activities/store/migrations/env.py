"""What Alembic runs. The connection, already in its transaction and under its lock, comes from `activities.store.migrate`."""

from alembic import context

from activities.store.migrate import VERSION_TABLE
from activities.store.tables import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("migrations run when a database is opened: activities.store.database.open_database(address)")

context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite alters a table by copying it
)
context.run_migrations()
