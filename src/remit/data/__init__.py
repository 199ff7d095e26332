"""The `data` server: approved queries and an ontology over databases (S2.8-S2.48)."""
