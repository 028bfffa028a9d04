"""Write snapshots, move pointers by compare-and-swap, and remove old snapshots."""
