"""What is said when an answer is not at hand."""

from __future__ import annotations


class CacheMiss(Exception):
    """The answer needs more than memory, so it belongs on a compute thread."""
