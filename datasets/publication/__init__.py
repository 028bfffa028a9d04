"""Moving what is served: snapshots written, pointers compared and swapped, old snapshots removed."""
