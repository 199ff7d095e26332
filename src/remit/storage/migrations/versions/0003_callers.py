"""Keys of every kind of caller, agents, disabled users (R5)."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    for column in (
        sa.Column("user_roles", sa.JSON, nullable=False, server_default="[]"),
        sa.Column("service", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("queries", sa.JSON, nullable=False, server_default="[]"),
        sa.Column("agent", sa.Text, nullable=False, server_default=""),
    ):
        op.add_column("api_keys", column)
    op.create_table(
        "agents",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("epic", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
    )
    op.create_table(
        "disabled_users",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("since", TIME, nullable=False),
    )
