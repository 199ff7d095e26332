"""From the MCP configuration files that people have to one `remit.yaml` (`remit init --from`)."""
