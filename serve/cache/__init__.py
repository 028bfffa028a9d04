"""What is cached above the published files: rows rendered once, finished bodies; all of it bounded in bytes, and exact.

The engine answers from Parquet. A table that is asked for again is read by it once more, whole, and cached as the
JSON of its rows with an index, in a file that all processes read; a page is then a slice of that text.
"""
