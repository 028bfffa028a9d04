"""A finished run in memory: the content of its seal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The content of a seal.

    Attributes
    ----------
    manifest
        The keys of `seal.json` other than `kinds`.
    tables
        By kind, the Parquet tables.
    metrics
        The run's own figures; None seals none.
    description
        The description; None seals none.
    source
        By relative path, the bytes of the run's code; None seals none.
    """

    manifest: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    metrics: Sequence[Mapping[str, Any]] | None = None
    description: Mapping[str, Any] | None = None
    source: Mapping[str, bytes] | None = None
