"""Histories that begin a conversation and are too large for a turn's input."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table of stored histories."""
    op.create_table(
        "stored_histories",
        sa.Column("ref", sa.Text(), primary_key=True),
        sa.Column("organization_id", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
    )
