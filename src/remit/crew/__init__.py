"""The crew: agents that report to one another, as servers of the gateway's own."""
