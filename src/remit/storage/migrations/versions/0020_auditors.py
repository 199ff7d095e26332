"""Keys of auditors."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    column = sa.Column("auditor", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("api_keys", column)
