"""What is cached in memory above the files: rows rendered once, finished bodies; all of it bounded in bytes, and exact.

The engine answers from the files. A dataset that is asked for again is read by it once more, whole, and cached as the
JSON of its rows with a small index; a page is then a slice of that text.
"""
