"""Compute the headline figures of a pointer from the files of a snapshot."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson
import polars as pl

from datasets.figure_data import BOOK, ReadTable, floats_of, read
from datasets.figures.costs import cost_bp
from datasets.figures.headline import headline_of, without_figures
from datasets.figures.unavailable import MISSING_KIND, Unavailable
from datasets.layout import DESCRIPTION, snapshot_path
from datasets.manifest import Manifest
from datasets.storage import Storage

_log = logging.getLogger(__name__)

Read = Callable[[str], bytes]
"""Reads a file of the snapshot by its path below the snapshot's folder."""
_COSTS: Final = ("execution_cost", "turnover_notional")


def make_headline(manifest: Manifest, read_file: Read) -> dict[str, Any]:
    """Compute the headline figures of a snapshot from its files, for the pointer.

    Parameters
    ----------
    manifest : Manifest
        Manifest of the snapshot.
    read_file : Callable[[str], bytes]
        Reads a file by its path below the snapshot's folder; only small files are read.

    Returns
    -------
    dict
        As :func:`datasets.figures.headline.headline_of` returns them. If the files cannot be read, every figure is withheld,
        so that the snapshot can still be published.
    """
    paths = {(entry.dataset, entry.book): entry.path for entry in manifest.files}

    def read_table(dataset: str, columns: Sequence[str], book: str | None = None) -> pl.DataFrame:
        data = io.BytesIO(read_file(paths[dataset, book]))
        return pl.read_parquet(data, columns=list(columns), hive_partitioning=False)

    try:
        described = orjson.loads(read_file(DESCRIPTION)) if ("description", None) in paths else None
        cost = _cost_bp(read_table) if ("portfolio", BOOK) in paths else _NO_PORTFOLIO
        return headline_of(read(read_table, manifest), described, cost)
    except Exception:  # noqa: BLE001 - an intact snapshot is published even without figures
        _log.exception("the figures of %s could not be computed; its list entry has none", manifest.alpha_id)
        return without_figures()


def stored_headline(storage: Storage, manifest: Manifest) -> dict[str, Any]:
    """Compute the headline figures of a stored snapshot, as :func:`make_headline` does."""
    folder = snapshot_path(manifest.alpha_id, manifest.snapshot)
    sizes = {entry.path: entry.bytes for entry in manifest.files}
    return make_headline(manifest, lambda path: storage.read(f"{folder}/{path}", sizes[path]))


_NO_PORTFOLIO: Final = Unavailable(MISSING_KIND, f"the run holds no portfolio of the book {BOOK}")


def _cost_bp(read_table: ReadTable) -> float | Unavailable:
    rows = read_table("portfolio", _COSTS, BOOK)
    value = cost_bp(*(floats_of(rows, name) for name in _COSTS))
    if isinstance(value, float) and not math.isfinite(value):
        return Unavailable("insufficient_data", "the ledger has sessions without a cost or a traded notional")
    return value
