"""Payloads of the API that are not rows of a published table, by topic."""
