"""Signed markers in place of rows of the audit that retention removed."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "audit_cuts",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("link", sa.BigInteger, nullable=False),
        sa.Column("signed", sa.Text, nullable=False),
    )
