"""Tools for agents at ``/mcp``, over the Model Context Protocol: answers of ``/v1``, cut to a size that agents can read."""
