"""The web console: one more client of the REST API, rendered on the server."""
