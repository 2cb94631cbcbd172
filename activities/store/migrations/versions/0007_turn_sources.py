"""What a turn retrieved."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a column to the turns."""
    op.add_column("turns", sa.Column("sources", sa.Text(), nullable=True))
