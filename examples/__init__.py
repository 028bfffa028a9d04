"""What stands beside the project: an engine that writes seals, and tasks for orchestrators."""
