"""Maintenance of a datasets root: list, show, verify, gc, rollback, withdraw."""
