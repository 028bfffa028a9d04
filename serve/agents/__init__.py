"""Tools for agents at ``/mcp``, by the Model Context Protocol: answers of ``/v1``, small enough to be read."""
