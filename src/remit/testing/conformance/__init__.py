"""A server that offers every name the published conformance suite calls, and how to run the suite."""
