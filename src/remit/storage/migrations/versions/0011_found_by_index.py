"""What is asked of a long record and of many keys is found by an index."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_index("api_keys_in_order", "api_keys", ["tenant", "created", "id"])
    op.create_index("api_keys_of_name", "api_keys", ["tenant", "name", "created", "id"])
    op.create_index("audit_events_of_principal", "audit_events", ["principal", "id"])
    op.create_index("audit_events_of_tool", "audit_events", ["tool", "id"])
    has_code = sa.text("code <> ''")
    op.create_index(
        "audit_events_of_code",
        "audit_events",
        ["code", "id"],
        sqlite_where=has_code,
        postgresql_where=has_code,
    )
