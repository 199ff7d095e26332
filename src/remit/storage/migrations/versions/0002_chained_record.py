"""Rows of the audit are chained by hash; a revision knows whether a file says the same."""

import sqlalchemy as sa
from alembic import op

from remit.storage.chain import FIELDS as NOW
from remit.storage.chain import PAGE, canonical_time, row_hash
from remit.storage.tables import audit_events

revision = "0002"
down_revision = "0001"

FIELDS = tuple(name for name in NOW if name != "agent")
"""Those that there were."""


def upgrade() -> None:
    op.add_column(
        "revisions",
        sa.Column("from_file", sa.Boolean, nullable=False, server_default=sa.true()),
    )
    op.add_column("audit_events", sa.Column("link", sa.BigInteger))
    op.add_column("audit_events", sa.Column("hash", sa.Text))
    op.create_table(
        "audit_chain",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("length", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    _chain_what_is_there()


def _chain_what_is_there() -> None:
    connection = op.get_bind()
    ends: dict[str, tuple[int, str]] = {}
    columns = [audit_events.c[name] for name in FIELDS]
    mark = sa.text("UPDATE audit_events SET link = :link, hash = :hash WHERE seq = :seq")
    seq = 0
    while True:
        page = (
            sa.select(audit_events.c.seq, *columns)
            .where(audit_events.c.seq > seq)
            .order_by(audit_events.c.seq)
            .limit(PAGE)
        )
        rows = connection.execute(page).all()
        if not rows:
            break
        marks: list[dict[str, object]] = []
        for row in rows:
            seq = row.seq
            length, previous = ends.get(row.tenant, (0, ""))
            values = [getattr(row, name) for name in FIELDS]
            values[FIELDS.index("time")] = canonical_time(row.time)
            ends[row.tenant] = (length + 1, row_hash(previous, length + 1, [*values, None]))
            marks.append({"link": length + 1, "hash": ends[row.tenant][1], "seq": seq})
        connection.execute(mark, marks)
    for tenant, (length, last) in ends.items():
        connection.execute(
            sa.text("INSERT INTO audit_chain (tenant, length, hash) VALUES (:t, :l, :h)"),
            {"t": tenant, "l": length, "h": last},
        )
