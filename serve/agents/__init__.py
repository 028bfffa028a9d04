"""Tools for agents at ``/mcp``, by the Model Context Protocol: answers of ``/v1``, cut to a size that agents can read."""
