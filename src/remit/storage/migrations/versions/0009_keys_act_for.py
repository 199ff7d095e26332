"""Keys name the agents that they may act for (R26)."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    column = sa.Column("act_for", sa.JSON, nullable=False, server_default="[]")
    op.add_column("api_keys", column)
