"""The JSON door: `POST /mcp/execute`."""
