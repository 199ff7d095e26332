"""Sessions at the console."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "console_sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("issuer", sa.Text, nullable=False),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("shown", sa.Text, nullable=False),
        sa.Column("roles", sa.JSON, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("last_seen", TIME, nullable=False),
        sa.Column("expires", TIME, nullable=False),
    )
