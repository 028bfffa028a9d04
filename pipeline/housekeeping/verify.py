"""Verification of a served snapshot without its seal: digests, declarations, rules, derived figures."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import polars as pl

from datasets.layout import (
    DESCRIPTION,
    FIGURES,
    MANIFEST,
    PROBE,
    pointer_path,
    sealed_weeks_path,
    snapshot_path,
    table_path,
)
from datasets.manifest import FileEntry, Manifest
from datasets.pointer import Pointer
from datasets.provenance.integrity import Fault, check_files, check_manifest
from datasets.provenance.sealed_weeks import SealedWeek
from datasets.publication.earlier_seals import earlier_seals
from datasets.publication.pointers import served
from datasets.storage import Storage
from pipeline.housekeeping.recheck_sealed import recheck, sealed_tables
from pipeline.housekeeping.recompute_derived import Recorder, differences, same_figures
from pipeline.seal.casting import POLARS_TYPES
from pipeline.seal.declared_differences import DeclaredDifferences
from pipeline.snapshot_builder.build_result import Stages
from pipeline.snapshot_builder.contents import RestoredRun, write_datasets
from pipeline.snapshot_builder.ledgers import Span
from schemas.errors import SnapshotCorrupt
from schemas.plurals import counted
from schemas.table import Table
from schemas.tables import PUBLISHED_TABLES
from schemas.version import schema_version


@dataclass(slots=True)
class Verdict:
    """Result of verifying one alpha.

    Attributes
    ----------
    alpha_id, snapshot
        The alpha and its snapshot; None when its pointer cannot be read.
    files, bytes
        Number and size of the files that were read.
    faults
        All faults; empty when the snapshot is intact.
    other_declarations
        Whether the snapshot was built with other declarations than this program's, so that only digests were compared.
    """

    alpha_id: str
    snapshot: str | None = None
    files: int = 0
    bytes: int = 0
    faults: list[Fault] = field(default_factory=list)
    other_declarations: bool = False


def verify(storage: Storage, alpha_id: str, *, quick: bool = False) -> Verdict:
    """Verify the served snapshot of an alpha.

    Parameters
    ----------
    quick
        Whether to compare digests only.

    Returns
    -------
    Verdict
        All faults, not only the first. Checks that need a damaged file are omitted.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    verdict = Verdict(alpha_id)
    try:
        pointer = served(storage, alpha_id)
    except SnapshotCorrupt as error:
        verdict.faults.append(Fault(pointer_path(alpha_id), "pointer", f"cannot be read: {error}"))
        return verdict
    if pointer is None or pointer.alpha_id != alpha_id:
        verdict.faults.append(Fault(pointer_path(alpha_id), "pointer", "names no snapshot of this alpha"))
        return verdict
    verdict.snapshot = pointer.snapshot
    manifest, faults = check_manifest(storage, pointer)
    verdict.faults += faults
    if manifest is None:
        return verdict
    # The empty snapshot of a withdrawn alpha has no version.
    verdict.other_declarations = bool(manifest.files) and manifest.schema_version != schema_version()
    _Verification(storage, pointer, manifest, verdict, quick=quick or verdict.other_declarations).run()
    return verdict


_OWN_ORDER: Final = "books"
"""Table in the API's order of books; it is recomputed, order included, so its order is not checked here."""


class _Verification:
    """Verification of one snapshot; its tables stay in memory for the rules on several tables."""

    def __init__(
        self, storage: Storage, pointer: Pointer, manifest: Manifest, verdict: Verdict, *, quick: bool
    ) -> None:
        self._storage = storage
        self._manifest = manifest
        self._verdict = verdict
        self._quick = quick
        self._pointer = pointer
        self._folder = snapshot_path(pointer.alpha_id, pointer.snapshot)
        self._frames: dict[tuple[str, str | None], pl.DataFrame] = {}
        self._figures: dict[str, object] = {}
        self._description: dict[str, Any] | None = None

    def run(self) -> None:
        """Read every file once, then check the tables together."""
        faults = self._verdict.faults
        faults += check_files(
            self._storage, self._manifest, self._pointer.alpha_id, self._pointer.snapshot, self._add_file
        )
        faults += self._sealed_weeks()
        if self._quick or faults:
            return
        sealed = sealed_tables(self._frames)
        basis = self._manifest.equity_basis
        declared = DeclaredDifferences.read(self._manifest.reconciliation.get("declared", {}))
        broken = recheck(sealed, basis, declared, self._manifest.rules)
        faults += [Fault(self._location(x.kind), x.rule, x.message) for x in broken]
        if faults:
            return
        if self._manifest.files:  # the empty snapshot of a withdrawn alpha has none
            faults += self._derived(sealed)

    def _derived(self, sealed: Mapping[str, pl.DataFrame]) -> Iterator[Fault]:
        """Compare tables, weekly digests and figures with those that a build derives from the sealed tables."""
        manifest, recorder = self._manifest, Recorder()
        run = RestoredRun(
            manifest.alpha_id,
            manifest.equity_basis,
            manifest.smoothing,
            manifest.kinds,
            sealed,
            self._description,
        )
        written = write_datasets(run, recorder, Stages())
        for (dataset, book), rows in recorder.tables.items():
            path = f"{self._folder}/{table_path(dataset, book)}"
            published = self._frames.get((dataset, book))
            if published is None:
                yield Fault(path, "missing", "is in no manifest, although the run determines it")
                continue
            for difference in differences(published, rows, manifest.equity_basis):
                yield Fault(path, "derived", difference)
        if manifest.weekly_digests and _digests(written.sealed_weeks) != manifest.weekly_digests:
            differing = "has weekly digests that differ from those of the published rows"
            yield Fault(f"{self._folder}/{MANIFEST}", "derived", differing)
        figures = {
            path: orjson.loads(data)
            for path, data in recorder.documents.items()
            if path.startswith(f"{FIGURES}/")
        }
        for path in sorted(figures.keys() | self._figures.keys()):
            if not same_figures(self._figures.get(path), figures.get(path)):
                differing = "has figures that differ from recomputed ones"
                yield Fault(f"{self._folder}/{path}", "derived", differing)

    def _sealed_weeks(self) -> list[Fault]:
        """Check the record of sealed weeks, against which later seals of the alpha are compared."""
        if not self._manifest.weekly_digests:
            return []
        path = sealed_weeks_path(self._manifest.alpha_id)
        try:
            entries = earlier_seals(self._storage, self._manifest.alpha_id)
        except SnapshotCorrupt as error:
            return [Fault(path, "history", str(error))]
        for entry in entries:
            if entry.seal_digest == self._manifest.seal_digest:
                if _digests(entry.weeks) == self._manifest.weekly_digests:
                    return []
                return [Fault(path, "history", "contradicts the manifest on the weeks of the served seal")]
        return [Fault(path, "history", "has no entry for the served seal")]

    def _add_file(self, entry: FileEntry, data: bytes) -> None:
        self._verdict.files += 1
        self._verdict.bytes += len(data)
        if self._quick:
            return
        path = f"{self._folder}/{entry.path}"
        if entry.dataset not in PUBLISHED_TABLES:
            self._document(path, entry, data)
            return
        try:
            rows = pl.read_parquet(io.BytesIO(data), hive_partitioning=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            self._verdict.faults.append(Fault(path, "parquet", f"cannot be read as Parquet: {error}"))
            return
        self._frames[entry.dataset, entry.book] = rows
        columns = tuple(self._manifest.columns.get(entry.dataset, ()))
        self._verdict.faults += _check_table(path, entry, PUBLISHED_TABLES[entry.dataset], columns, rows)

    def _document(self, path: str, entry: FileEntry, data: bytes) -> None:
        faults = self._verdict.faults
        if entry.path == PROBE:
            return  # the probe is a sample of the rows; its digest suffices
        if entry.path.startswith(f"{FIGURES}/"):
            self._figures[entry.path] = orjson.loads(data)
            return
        if entry.path != DESCRIPTION:
            faults.append(Fault(path, "manifest", "is not a file of a snapshot"))
            return
        self._description = description = orjson.loads(data)
        name, tldr = description.get("name") or self._pointer.alpha_id, description.get("tldr")
        if (name, tldr) != (self._pointer.name, self._pointer.tldr):
            path = pointer_path(self._pointer.alpha_id)
            faults.append(Fault(path, "pointer", "differs from the description in its name"))

    def _location(self, kind: str) -> str:
        """Return the file of a kind, or its folder if it is partitioned by book."""
        partitioned = kind in PUBLISHED_TABLES and PUBLISHED_TABLES[kind].partition
        return f"{self._folder}/{f'{kind}/' if partitioned else table_path(kind)}"


def _digests(weeks: Mapping[str, SealedWeek]) -> dict[str, dict[str, str | None]]:
    return {week: sealed_week.digests for week, sealed_week in weeks.items()}


def _check_table(
    path: str, entry: FileEntry, table: Table, columns: tuple[str, ...], rows: pl.DataFrame
) -> Iterator[Fault]:
    """Compare the columns, row count, span and row order of a file with declaration and manifest. Pure."""
    expected = {
        column.name: POLARS_TYPES[column.type] for column in table.stored_columns if column.name in columns
    }
    stored = dict(rows.schema)
    if list(stored.items()) != list(expected.items()):
        yield Fault(
            path, "columns", f"holds the columns {_shown(stored)} where {_shown(expected)} are declared"
        )
        return
    if rows.height != entry.rows:
        yield Fault(path, "rows", f"has {counted(rows.height, 'row')} where its manifest says {entry.rows}")
    span, declared = Span.of(rows).ends, (entry.first, entry.last)
    if span != declared:
        yield Fault(path, "span", f"runs from {span} where its manifest says {declared}")
    order = [name for name in table.sort if name in rows.columns]
    if entry.dataset != _OWN_ORDER and not rows.select(order).equals(
        rows.select(order).sort(order, nulls_last=True, maintain_order=True)
    ):
        yield Fault(path, "order", f"is not in the order of {', '.join(order)}")


def _shown(columns: dict[str, pl.DataType]) -> str:
    return ", ".join(f"{name} {dtype}" for name, dtype in columns.items())
