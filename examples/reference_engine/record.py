"""A finished run in memory: everything its seal will hold, before a file is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a run hands over.

    Attributes
    ----------
    manifest
        The keys of `seal.json` other than `kinds`.
    tables
        By kind, the Parquet tables.
    metrics
        The run's own figures; null seals none.
    description
        The written description; null seals none.
    source
        By relative path, the bytes of the run's code; null seals none.
    """

    manifest: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    metrics: Sequence[Mapping[str, Any]] | None = None
    description: Mapping[str, Any] | None = None
    source: Mapping[str, bytes] | None = None
