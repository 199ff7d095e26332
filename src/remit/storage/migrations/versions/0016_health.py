"""Since when an agent crashes, and who looks after that."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("crew_agents", sa.Column("crashed", TIME))
    op.create_table(
        "leases",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", TIME, nullable=False),
    )
