"""The first wall around a database: what a statement is, and whether it may run."""
