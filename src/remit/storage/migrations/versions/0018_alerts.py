"""Alerts, and how far the streams that raise them have been read."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

TIME = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "data_alerts",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("severity", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("opened", TIME, nullable=False),
        sa.Column("closed", TIME),
        sa.Column("closed_by", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint("tenant", "user", "type", "about", name="data_alerts_once"),
    )
    op.create_index("data_alerts_in_order", "data_alerts", ["tenant", "status", "id"])
    op.create_index("data_alerts_of_user", "data_alerts", ["tenant", "user", "type", "opened"])
    op.create_table(
        "data_alert_places",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("seq", NUMBER, nullable=False),
    )
