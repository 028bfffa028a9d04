"""Published tables over the Delta Sharing protocol: one share per alpha, read with the same keys, grants and limits."""
