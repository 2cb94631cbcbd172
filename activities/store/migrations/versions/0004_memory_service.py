"""What the memory service keeps: keys, limits of organisations, and answers to requests that may be sent again."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables of the memory service."""
    op.create_table(
        "organizations",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("max_total_tokens", sa.Integer(), nullable=True),
        sa.Column("default_recall_limit", sa.Integer(), nullable=True),
        sa.Column("max_index_items", sa.Integer(), nullable=True),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("secret_sha256", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("persona_id", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.Column("revoked_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_used_ms", sa.BigInteger(), nullable=True),
    )
    op.create_index("uq_api_keys_prefix", "api_keys", ["prefix"], unique=True)
    op.create_index("ix_api_keys_organization_id", "api_keys", ["organization_id"])
    op.create_table(
        "idempotency_records",
        *(
            sa.Column(name, sa.Text(), primary_key=True)
            for name in ("organization_id", "user_id", "persona_id", "request_key")
        ),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_idempotency_records_expires_ms", "idempotency_records", ["expires_ms"])
