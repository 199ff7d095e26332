"""How the tables came about, step by step; run by `storage/schema.py`, never by hand."""
