"""A REST client that the bundled servers of web services share: limits, retries, faults."""
