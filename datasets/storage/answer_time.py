"""How long the whole of an answer of an object store may take.

A client's own limits are for a connection and between two pieces of an answer: a store that sends a few bytes a second keeps
within them and would be waited for without end.
"""

from __future__ import annotations

from typing import Final

ANSWER_SECONDS: Final = 30.0
"""For a small object, or what a store says of one, tries and all."""
LONG_ANSWER_SECONDS: Final = 120.0
"""For a listing, many small objects together, and an object of whose size nothing is known."""
LEAST_BYTES_PER_SECOND: Final = 64 << 10
"""A store that sends a large object slower than this counts as away."""


def seconds_for(size: int) -> float:
    """Return how long an object of so many bytes may take; 0 is one of whose size nothing is known."""
    return ANSWER_SECONDS + size / LEAST_BYTES_PER_SECOND if size else LONG_ANSWER_SECONDS
