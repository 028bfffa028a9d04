"""Many builds: which seals are due, one process each, several at a time, here or on a cluster."""
