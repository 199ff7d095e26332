"""SQL for SQLite and PostgreSQL, and the audit journal; the only place that knows SQLAlchemy."""
