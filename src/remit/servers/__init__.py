"""Bundled MCP servers: each stands alone and imports nothing else of remit."""
