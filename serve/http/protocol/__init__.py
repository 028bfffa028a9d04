"""What comes over the wire before it is a request: bounds, time limits, the order of answers, and the fast path."""
