"""A typed client of a running gateway."""
