"""Whose a key is."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    column = sa.Column("owner", sa.Text, nullable=False, server_default="")
    op.add_column("api_keys", column)
