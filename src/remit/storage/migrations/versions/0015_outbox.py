"""How far each subscriber has heard of the crew's events, and what it would not take."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

TIME = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "crew_subscribers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("delivered", NUMBER, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due", TIME),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", TIME),
    )
    op.create_table(
        "crew_dead_letters",
        sa.Column("subscriber", sa.Text, primary_key=True),
        sa.Column("seq", NUMBER, primary_key=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("died", TIME, nullable=False),
    )
