"""The MCP servers behind us."""
