"""Examples: a research engine that writes seals, and tasks for orchestrators."""
