"""All pointers of a root on an object store in two objects, so that a poll is one request and a first look a few.

The index is a hint. The pointers remain the truth: it is checked against their listing now and then, and where it is
missing, damaged or behind, readers list and read pointers as if there were none.
"""

from __future__ import annotations

from datasets.pointer_index.fold import rebuild
from datasets.pointer_index.follow import Follower
from datasets.pointer_index.write import record

__all__ = ["Follower", "rebuild", "record"]
