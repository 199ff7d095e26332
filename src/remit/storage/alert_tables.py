"""The tables of alerts, beside those of `tables.py` (S2.48)."""

from sqlalchemy import JSON, BigInteger, Column, Index, Integer, Table, Text, UniqueConstraint

from remit.storage.tables import StorableText, UtcTime, metadata

alerts = Table(
    "data_alerts",
    metadata,
    Column("tenant", StorableText, primary_key=True),
    Column("id", StorableText, primary_key=True),
    Column("type", Text, nullable=False),
    Column("user", StorableText, nullable=False),
    Column("about", StorableText, nullable=False),
    Column("severity", Text, nullable=False),
    Column("title", StorableText, nullable=False),
    Column("details", JSON, nullable=False),
    Column("status", Text, nullable=False),
    Column("opened", UtcTime, nullable=False),
    Column("closed", UtcTime),
    Column("closed_by", StorableText, nullable=False),
    Column("note", StorableText, nullable=False),
    Column("version", Integer, nullable=False),
    # what has raised an alert never raises it again, whoever looks at it again
    UniqueConstraint("tenant", "user", "type", "about", name="data_alerts_once"),
    Index("data_alerts_in_order", "tenant", "status", "id"),
    Index("data_alerts_of_user", "tenant", "user", "type", "opened"),
)

# how far the streams that raise alerts have been read, whoever reads them
alert_places = Table(
    "data_alert_places",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger().with_variant(Integer(), "sqlite"), nullable=False),
)
