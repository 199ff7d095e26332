"""The table of sessions at the console, beside those of `tables.py`."""

from sqlalchemy import JSON, Column, Table, Text

from remit.storage.tables import StorableText, UtcTime, metadata

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", StorableText, nullable=False),
    # of one that began with a key, or of one that an issuer vouched for; empty texts otherwise
    Column("key", Text, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("issuer", StorableText, nullable=False),
    Column("client", StorableText, nullable=False),
    Column("subject", StorableText, nullable=False),
    Column("shown", StorableText, nullable=False),
    Column("roles", JSON, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("last_seen", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
)
