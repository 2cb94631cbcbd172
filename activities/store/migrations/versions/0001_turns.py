"""Conversations, the ledger of turns, their messages and the runs of tools."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables of the turn store."""
    op.create_table(
        "conversations",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("organization_id", sa.Text()),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("persona_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("next_position", sa.Integer(), nullable=False),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("conversation_id", sa.Text(), sa.ForeignKey("conversations.id"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("workflow_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("first_run_id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text()),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("persona_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("memory_text", sa.Text()),
        sa.Column("memory_plan", sa.Text()),
        sa.Column("output", sa.Text()),
        sa.Column("usage", sa.Text()),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger()),
        sa.UniqueConstraint("conversation_id", "position", name="uq_turns_position"),
    )
    op.create_index(
        "uq_turns_open",
        "turns",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "messages",
        sa.Column("turn_id", sa.Text(), sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("row", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "tool_runs",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("turn_id", sa.Text(), sa.ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("arguments_digest", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("result", sa.Text()),
    )
    op.create_index("ix_tool_runs_turn_id", "tool_runs", ["turn_id"])
