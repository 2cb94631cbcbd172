"""The chunks of turns that stream."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the table, and to a turn whether it streams."""
    op.add_column("turns", sa.Column("streams", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "turn_chunks",
        sa.Column("turn_id", sa.Text(), sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("sequence", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("row", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
    )
    ended = sa.text("type = 'final_response_marker'")
    op.create_index("ix_turn_chunks_ended", "turn_chunks", ["created_ms"], sqlite_where=ended, postgresql_where=ended)
