"""Approved queries: suggesting, deciding, running."""
