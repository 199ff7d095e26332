"""What administrators do: declarations, keys, checks."""
