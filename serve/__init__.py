"""Online side: the read-only JSON API over published snapshots."""
