"""One tool call, from request to audit line; read pipeline.py first."""
