"""Calls that count against limits."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "limit_slots",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("free_at", sa.Double, nullable=False),
    )
    op.create_index("limit_slots_free", "limit_slots", ["key", "free_at"])
