"""Reading the figures that a pointer records from the files of a snapshot: a few small reads of what a build has just written."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

import orjson
import polars as pl

from datasets.figure_data import BOOK, read
from datasets.figures.costs import cost_bp
from datasets.figures.headline import headline_of, without_figures
from datasets.figures.unavailable import MISSING_KIND, Unavailable
from datasets.layout import DESCRIPTION, snapshot_path
from datasets.manifest import FileEntry, Manifest
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt

_log = logging.getLogger(__name__)

Open = Callable[[str], "Path | IO[bytes]"]
"""Opens a file of the snapshot by its path below the snapshot's folder."""
_COSTS: Final = ("execution_cost", "turnover_notional")


class _Run:
    """A snapshot that is not published yet, or no more than its manifest and the means to open its files."""

    def __init__(self, manifest: Manifest, open_file: Open) -> None:
        self._open = open_file
        self._entries = {(entry.dataset, entry.book): entry for entry in manifest.files}

    def frame(self, dataset: str, columns: Sequence[str], book: str | None = None) -> pl.DataFrame:
        entry: FileEntry = self._entries[dataset, book]
        return pl.read_parquet(self._open(entry.path), columns=list(columns), hive_partitioning=False)

    def description(self) -> Any:
        """Return the written description as sealed, None where there is none."""
        if ("description", None) not in self._entries:
            return None
        opened = self._open(DESCRIPTION)
        return orjson.loads(opened.read_bytes() if isinstance(opened, Path) else opened.read())

    def cost_bp(self) -> float | Unavailable:
        if ("portfolio", BOOK) not in self._entries:
            return Unavailable(MISSING_KIND, f"the run holds no portfolio of the book {BOOK}")
        rows = self.frame("portfolio", _COSTS, BOOK)
        cost, traded = (rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in _COSTS)
        value = cost_bp(cost, traded)
        if isinstance(value, float) and not math.isfinite(value):
            return Unavailable(
                "insufficient_data", "the ledger has sessions without a cost or a traded notional"
            )
        return value


def make_headline(manifest: Manifest, open_file: Open) -> dict[str, Any]:
    """Return what a pointer records of a snapshot.

    Parameters
    ----------
    manifest
        Of the snapshot.
    open_file
        Opens its files; only small ones are read.

    Returns
    -------
    dict
        Every figure withheld where the files cannot be read: a publication is not refused for want of them.
    """
    try:
        opened = _Run(manifest, open_file)
        figures = read(opened.frame, manifest, _raise)
        return headline_of(figures, opened.description(), opened.cost_bp()).document()
    except Exception:  # noqa: BLE001 - whatever it was, the snapshot is sound and is published
        _log.exception("the figures of %s could not be made; its list entry goes without", manifest.alpha_id)
        return without_figures().document()


def stored_headline(storage: Storage, manifest: Manifest) -> dict[str, Any]:
    """Return what a pointer records of a snapshot that is in the root, as :func:`make_headline` does."""
    folder = snapshot_path(manifest.alpha_id, manifest.snapshot)
    sizes = {entry.path: entry.bytes for entry in manifest.files}
    return make_headline(manifest, lambda path: io.BytesIO(storage.read(f"{folder}/{path}", sizes[path])))


def _raise(error: SnapshotCorrupt) -> None:
    raise error
