"""Published tables by the Delta Sharing protocol: a share for each alpha, read with the same keys, grants and limits."""
