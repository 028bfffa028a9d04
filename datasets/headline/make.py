"""Making the figures of a snapshot from its files: a few small reads of what a build has just written."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import orjson
import polars as pl

from datasets.figure_data import read
from datasets.figures.blocks import rank_ic
from datasets.figures.core import core_statistics
from datasets.figures.equity import period_returns
from datasets.figures.run_figures import Ledger, RunFigures, SealedMetrics, Sources
from datasets.figures.series import measured
from datasets.figures.statistics import Entry, Span
from datasets.figures.unavailable import Unavailable, Warnings
from datasets.headline.record import SEALED, Headline
from datasets.layout import DESCRIPTION, snapshot_path
from datasets.manifest import FileEntry, Manifest
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt
from schemas.metrics.headline import RECORDED, HeadlineFigure
from schemas.metrics.statistic import DERIVED, SOURCES, Checked

_log = logging.getLogger(__name__)

Open = Callable[[str], "Path | IO[bytes]"]
"""Opens a file of the snapshot by its path below the snapshot's folder."""
_LEFT_OUT: Final = frozenset({"weekly_deciles"})
"""Datasets of the metrics that no figure here is made from."""
_MAX_TAGS: Final = 50
_MAX_TAG_CHARACTERS: Final = 100
"""Tags that a pointer records, and characters of each: it is read by every node at every poll."""
_MAX_REASON_CHARACTERS: Final = 300
_FAILED: Final = "the figure could not be computed from the published files"


class _Run:
    """A snapshot that is not published yet, or no more than its manifest and the means to open its files."""

    def __init__(self, manifest: Manifest, open_file: Open) -> None:
        self.alpha_id = manifest.alpha_id
        self.manifest = manifest
        self._open = open_file
        self._entries = {(entry.dataset, entry.book): entry for entry in manifest.files}

    def has(self, dataset: str, book: str | None = None) -> bool:
        if dataset in _LEFT_OUT:
            return False
        return dataset in self.manifest.columns if book is None else (dataset, book) in self._entries

    def columns(self, dataset: str) -> tuple[str, ...]:
        return tuple(self.manifest.columns.get(dataset, ()))

    def frame(self, dataset: str, columns: Sequence[str], book: str | None = None) -> pl.DataFrame:
        entry: FileEntry = self._entries[dataset, book]
        return pl.read_parquet(self._open(entry.path), columns=list(columns), hive_partitioning=False)

    def description(self) -> Any:
        """Return the written description as sealed, None where there is none."""
        if ("description", None) not in self._entries:
            return None
        opened = self._open(DESCRIPTION)
        return orjson.loads(opened.read_bytes() if isinstance(opened, Path) else opened.read())


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
        return _headline(manifest, open_file).document()
    except Exception:  # noqa: BLE001 - whatever it was, the snapshot is sound and is published
        _log.exception("the figures of %s could not be made; its list entry goes without", manifest.alpha_id)
        return Headline({}, dict.fromkeys((figure.name for figure in RECORDED), _FAILED)).document()


def stored_headline(storage: Storage, manifest: Manifest) -> dict[str, Any]:
    """Return what a pointer records of a snapshot that is in the root, as :func:`make_headline` does."""
    folder = snapshot_path(manifest.alpha_id, manifest.snapshot)
    return make_headline(manifest, lambda path: io.BytesIO(storage.read(f"{folder}/{path}")))


@np.errstate(all="ignore")
def _headline(manifest: Manifest, open_file: Open) -> Headline:
    opened = _Run(manifest, open_file)
    run = read(opened.frame, opened, _raise)
    whole = Sources(run, [source.endpoint for source in SOURCES])
    records = run.sealed.of("overall") if isinstance(run.sealed, SealedMetrics) else {}
    span = Span(records, whole, whole, run.equity_basis)
    blocks = {"core": core_statistics(span, Warnings(), "core"), "rank_ic": rank_ic(span, Warnings())}
    values: dict[str, tuple[float, str, Checked]] = {}
    withheld: dict[str, str] = {}
    for figure in RECORDED:
        found = _entry(blocks, figure)
        value = found if isinstance(found, Unavailable) else _comparable(figure, found)
        if isinstance(value, Unavailable):
            withheld[figure.name] = value.text[:_MAX_REASON_CHARACTERS]
        else:
            values[figure.name] = value
    return Headline(values, withheld, _tags(opened.description()), _sessions(run), run.checked)


def _sessions(run: RunFigures) -> int | None:
    ledger = run.ledger
    return (
        int(measured(period_returns(ledger.starting, ledger.ending)).size)
        if isinstance(ledger, Ledger)
        else None
    )


def _raise(error: SnapshotCorrupt) -> None:
    raise error


def _entry(blocks: Mapping[str, Any], figure: HeadlineFigure) -> Entry | Unavailable:
    """Return the entry of a figure in the metrics, or why its block is not there."""
    found: Any = blocks
    for step in figure.path:
        if isinstance(found, Unavailable):
            return found
        found = found[step]
    entry: Entry = found
    return entry


def _comparable(figure: HeadlineFigure, entry: Entry) -> tuple[float, str, Checked] | Unavailable:
    """Return a value in the unit of the list, what it was computed from, and what it rests on."""
    value = entry["value"]
    if value is None:
        return Unavailable("insufficient_data", entry["withheld_reason"])
    if (entry["unit"], entry["annualisation"]) != (figure.unit, figure.statistic.annualisation):
        where, shown = ".".join(figure.path), f"{entry['unit']} ({entry['annualisation']})"
        return Unavailable(
            "other_unit",
            f"the run's figure is in {shown}, which does not compare; {where} of its metrics has it",
        )
    made_of = figure.statistic.source.kind if entry["source_kind"] == DERIVED else SEALED
    return value, made_of, Checked(entry["checked"])


def _tags(description: Any) -> tuple[str, ...] | None:
    if not isinstance(description, Mapping):
        return None
    found = description.get("classification")
    tags = found.get("tags") if isinstance(found, Mapping) else None
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return tuple(tag[:_MAX_TAG_CHARACTERS] for tag in texts[:_MAX_TAGS])
