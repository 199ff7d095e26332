"""Alerts: rules over what callers do with data."""
