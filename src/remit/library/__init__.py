"""What programs import: the classes that the design documents name, over the gateway's engine."""
