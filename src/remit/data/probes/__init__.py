"""What the data itself looks like: probes of columns and relationships, and samples of rows."""
