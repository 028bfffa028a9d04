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
        Kind -> Parquet table.
    metrics
        The run's own figures; None to omit them.
    description
        The description; None to omit it.
    source
        Relative path -> bytes of the run's code; None to omit it.
    """

    manifest: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    metrics: Sequence[Mapping[str, Any]] | None = None
    description: Mapping[str, Any] | None = None
    source: Mapping[str, bytes] | None = None
