"""Snapshots of memory and their last versions."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables of the snapshot store."""
    op.create_table(
        "memory_snapshots",
        *_scope(),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "memory_snapshot_versions",
        *_scope(),
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.Column("saved_ms", sa.BigInteger(), nullable=False),
    )


def _scope() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), primary_key=True) for name in ("organization_id", "user_id", "persona_id")]
