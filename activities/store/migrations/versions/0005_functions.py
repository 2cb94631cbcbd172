"""What a conversation has chosen of its functions, and the attempts of each run of a tool."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add a column to each of the two tables."""
    op.add_column("conversations", sa.Column("selection", sa.Text(), nullable=True))
    op.add_column("tool_runs", sa.Column("attempts", sa.Text(), nullable=True))
