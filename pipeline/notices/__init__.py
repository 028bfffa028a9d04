"""Notices on runs, which never refuse them. They are declared in :mod:`schemas.notices`.

Each family is a module of pure functions on the samples that :mod:`pipeline.notices.evidence` takes from the tables.
"""

from pipeline.notices.outcome import NoticeOutcome, in_declared_order, judged, not_checked
from pipeline.notices.run_notices import Run, find_notices

__all__ = [
    "NoticeOutcome",
    "Run",
    "find_notices",
    "in_declared_order",
    "judged",
    "not_checked",
]
