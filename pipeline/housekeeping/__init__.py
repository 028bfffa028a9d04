"""Care of a datasets root: list, show, verify, collect, roll back, withdraw."""
