"""Tenants have a name and a UUID; the one that there was is called `default`."""

import uuid
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

TIME = sa.DateTime(timezone=True)
UUID = sa.Uuid(as_uuid=False).with_variant(sa.String(36), "sqlite")


def upgrade() -> None:
    table = op.create_table(
        "tenants",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("uuid", UUID, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.UniqueConstraint("uuid", name="tenants_uuid_once"),
    )
    first = {"name": "default", "uuid": str(uuid.uuid4()), "created": datetime.now(UTC)}
    op.bulk_insert(table, [first])
