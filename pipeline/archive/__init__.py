"""Source archives of runs: packaging, delivery, and the record of their state."""
