"""Examples: a research engine that writes seals, a demo of both programs, and tasks for orchestrators."""
