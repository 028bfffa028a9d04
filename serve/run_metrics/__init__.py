"""The metrics resource: figures of snapshots read once, and answers to the same query encoded once.

What the figures are is in :mod:`datasets.figures`, which needs no server.
"""
