"""`/api/v1`: everything that administrators manage, over HTTP."""
