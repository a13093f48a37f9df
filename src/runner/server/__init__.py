"""The control plane as an MCP server over stdio: `runner mcp` (CONTRACT §7)."""
