"""A server with every name the published conformance suite calls, and how to run the suite."""
