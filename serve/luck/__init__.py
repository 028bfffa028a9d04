"""Luck of the snapshots that are served."""
