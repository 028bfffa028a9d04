"""Payloads of the interface that are not rows of a published table, by topic."""
