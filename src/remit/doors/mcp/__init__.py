"""The door for MCP: one protocol part, served over HTTP and over stdio."""
