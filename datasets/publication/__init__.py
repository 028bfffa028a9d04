"""Moving what is served: snapshots written whole, pointers compared and swapped, old snapshots removed."""
