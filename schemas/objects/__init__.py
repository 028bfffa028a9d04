"""Payloads of the interface that are not rows of a published table, declared beside one another by topic."""
