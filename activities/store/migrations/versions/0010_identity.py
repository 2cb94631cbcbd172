"""What tells this database from any other."""

from uuid import uuid4

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create the table with its one row."""
    table = op.create_table("database_identity", sa.Column("id", sa.Text(), primary_key=True))
    op.bulk_insert(table, [{"id": uuid4().hex}])
