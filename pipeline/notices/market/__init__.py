"""Notices from the comparison of all names and sessions of a run with market prices."""
