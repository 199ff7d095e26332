"""The record names the agent that acts, also where another caller acts for it (R26)."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("audit_events", sa.Column("agent", sa.Text))
    is_agents = sa.text("agent IS NOT NULL")
    op.create_index(
        "audit_events_of_agent",
        "audit_events",
        ["agent", "id"],
        sqlite_where=is_agents,
        postgresql_where=is_agents,
    )
