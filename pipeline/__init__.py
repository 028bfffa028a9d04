"""Offline program: checks seals and publishes them as immutable snapshots.

For programs: :func:`build_many` and :func:`build_from` yield a :class:`SealResult` for each seal as soon as it is known.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pipeline.batch.cancellation import Cancellation
    from pipeline.batch.many import build_from, build_many
    from pipeline.batch.result import SealResult
    from schemas.errors import AlphaResultsError

__all__ = ["AlphaResultsError", "Cancellation", "SealResult", "build_from", "build_many"]

_PLACES: Final = {
    "AlphaResultsError": "schemas.errors",
    "Cancellation": "pipeline.batch.cancellation",
    "SealResult": "pipeline.batch.result",
    "build_from": "pipeline.batch.many",
    "build_many": "pipeline.batch.many",
}


def __getattr__(name: str) -> Any:
    """Import the public names lazily, so that commands start without them."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
