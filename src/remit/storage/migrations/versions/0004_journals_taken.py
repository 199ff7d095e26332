"""How far each journal is in the database, committed with its events."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "audit_journals",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("taken", sa.BigInteger, nullable=False),
    )
