"""Whole files by signed links: tables, and what is left of them for keys without raw-book access."""
