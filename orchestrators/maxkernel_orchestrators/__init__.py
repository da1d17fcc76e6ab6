"""The step, the roles, Auto and search: MCP clients of the lab, with any mind or none."""
