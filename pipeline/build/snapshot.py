"""The build of one seal: check, derive, write, publish."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import polars as pl

from datasets.archives import ArchiveState
from datasets.layout import DESCRIPTION, MANIFEST, snapshot_path
from datasets.manifest import FileEntry, Manifest, Pointer, encode, pointer_of
from datasets.pointers import Published, point, served
from datasets.publication import Publication
from datasets.storage import Storage, open_storage
from pipeline.archive import DEFAULT_EXCLUDE, package
from pipeline.build import books, ledgers, signals
from pipeline.build.decisions import published_decisions
from pipeline.build.ledgers import Books
from pipeline.build.stages import Stages
from pipeline.build.write import write_document, write_table
from pipeline.maths.row_order import ordered
from pipeline.rules import check
from pipeline.seal import Seal
from schemas.errors import SealRefused, SnapshotCorrupt
from schemas.kinds import KINDS, REQUIRED_KINDS
from schemas.tables import PUBLISHED_TABLES
from schemas.version import schema_version, snapshot_id


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build came to.

    Attributes
    ----------
    alpha_id, snapshot
        What is served now.
    changed
        False when this very snapshot was served already and nothing was written.
    files, bytes
        Published files and their total size; 0 when nothing changed.
    warnings
        What the rule check noticed without refusing the seal.
    seconds
        Stage -> wall seconds.
    archive
        State of the source archive; None when the run sealed no source or there is no place for archives.
    """

    alpha_id: str
    snapshot: str
    changed: bool
    files: int = 0
    bytes: int = 0
    warnings: tuple[dict[str, Any], ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    archive: ArchiveState | None = None


def build_seal(
    address: str,
    root: str | os.PathLike[str],
    *,
    force: bool = False,
    archives: str | None = None,
    exclude: Sequence[str] = DEFAULT_EXCLUDE,
    single_writer: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> BuildResult:
    """Check a seal and publish it as an immutable snapshot.

    Parameters
    ----------
    address
        The seal: a local folder or the URL of a supported store.
    root
        The datasets root to publish under.
    force
        Publish although a later seal of the alpha is served; of what is served already, replace damaged files.
    archives
        Where the source archive is delivered: a folder or the URL of a supported store; None keeps no archives. A delivery that
        fails does not hold back the data: the state returned says why, and the next build tries again.
    exclude
        Patterns of source files that are left out of the archive.
    single_writer
        Whether the caller answers for it that nobody else writes to the root meanwhile.
    on_stage
        Called with the name of each stage as it begins.

    Returns
    -------
    BuildResult
        With ``changed`` False, and no byte written, when this seal is what is served already.

    Raises
    ------
    SealUnreadable
        When there is no seal at the address.
    SealRefused
        When a rule is broken; what was published before keeps being served.
    PublicationRefused
        When a later seal of the alpha is served and `force` is not given.
    """
    stages = Stages(on_stage)
    storage = open_storage(root, single_writer=single_writer)
    with stages("open"):
        seal = Seal.open(address)
        snapshot = snapshot_id(seal.digest)
        again = _already_there(storage, seal, snapshot, force=force)
    if again is not None:
        with stages("archive"):
            archive = package(seal, storage, archives, exclude=exclude)
        return BuildResult(seal.alpha_id, snapshot, again.changed, seconds=stages.seconds, archive=archive)
    storage.require_safe_writers()  # before any work for it is done
    with stages("check"):
        report = check(seal)
    if report.refused:
        found = report.to_dict()
        raise SealRefused(
            f"{address} breaks {len(report.violations)} rule(s); nothing was published", found["violations"]
        )
    warnings = tuple(report.to_dict()["warnings"])
    with Publication(storage, seal.alpha_id, snapshot) as publication:
        files, columns = _write_all(seal, publication.folder, stages)
        manifest = _manifest(seal, snapshot, files, columns, warnings)
        with stages("publish"):
            published = publication.commit(manifest, _pointer(seal, manifest), force=force)
    with stages("archive"):
        archive = package(seal, storage, archives, exclude=exclude)
    return BuildResult(
        seal.alpha_id,
        snapshot,
        published.changed,
        len(files) + 1,
        sum(entry.bytes for entry in files),
        warnings,
        stages.seconds,
        archive,
    )


def _already_there(storage: Storage, seal: Seal, snapshot: str, *, force: bool) -> Published | None:
    """Recognise a snapshot that is whole: served, or only to be pointed at (a build killed at its last step)."""
    current = served(storage, seal.alpha_id)
    if current is not None and current.snapshot == snapshot:
        # Forced, the files are built again, and those found damaged are replaced.
        return None if force else Published(seal.alpha_id, snapshot, changed=False)
    try:
        encoded = storage.read(f"{snapshot_path(seal.alpha_id, snapshot)}/{MANIFEST}")
        manifest = Manifest.decode(encoded, f"the manifest of {snapshot}")
        return point(storage, _pointer(seal, manifest), encoded, force=force)
    except (FileNotFoundError, SnapshotCorrupt):
        return None  # not there, or not whole: it is built as if for the first time


def _write_all(
    seal: Seal, folder: Path, stages: Stages
) -> tuple[list[FileEntry], dict[str, tuple[str, ...]]]:
    """Write every dataset the seal allows; tables are let go as soon as nothing more needs them."""
    writer = _Writer(folder)
    weekly: Future[dict[str, pl.DataFrame]] | None = None
    with writer, ThreadPoolExecutor(1, thread_name_prefix="signal") as beside:
        decisions = None
        if seal.has("decisions"):
            with stages("decisions"):
                decisions = published_decisions(ordered(seal.table("decisions"), ("date", "symbol")))
                seal.drop("decisions")
                writer.table("decisions", decisions)
        if seal.has("rebalances"):
            with stages("signal quality"):
                rebalances = seal.table("rebalances")
                writer.table("rebalances", signals.published_rebalances(rebalances, decisions))
                if decisions is not None:
                    # Most of it runs on one core, so the books are derived meanwhile.
                    weekly = beside.submit(signals.weekly_tables, rebalances, decisions)
        del decisions
        by_kind: dict[str, Books] = {}
        if seal.has("portfolio"):
            with stages("portfolio"):
                by_kind["portfolio"] = ledgers.published_portfolio(seal.table("portfolio"), seal.equity_basis)
                writer.by_book("portfolio", by_kind["portfolio"])
                writer.by_book("equity_curve", ledgers.published_equity_curves(by_kind["portfolio"]))
        for kind, derive in (
            ("positions", ledgers.published_positions),
            ("pnl", ledgers.published_pnl),
            ("trades", ledgers.published_trades),
        ):
            if seal.has(kind):
                with stages(kind):
                    by_kind[kind] = derive(seal.table(kind))
                    seal.drop(kind)
                    writer.by_book(kind, by_kind[kind])
        if by_kind:
            writer.table("books", books.published_books(by_kind))
        _write_documents(seal, writer)
        if weekly is not None:
            with stages("signal quality"):
                for name, rows in weekly.result().items():
                    writer.table(name, rows)
        with stages("write"):
            writer.finish()
    return writer.files, writer.columns


def _write_documents(seal: Seal, writer: _Writer) -> None:
    metrics = seal.metrics() if seal.has("metrics") else None
    if metrics is not None:
        writer.table("sealed_metrics", metrics.sort("scope", "period", "name", nulls_last=True))
    description = seal.description() if seal.has("description") else None
    if description is not None:
        writer.document(DESCRIPTION, "description", encode(description))


class _Writer:
    """Writes files on threads while the next dataset is being derived: Parquet encoding releases the interpreter."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="write")
        self._written: list[Any] = []
        self.files: list[FileEntry] = []
        self.columns: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def table(self, dataset: str, rows: pl.DataFrame) -> None:
        self._declare(dataset, rows.columns)
        self._written.append(self._pool.submit(write_table, self._folder, dataset, rows))

    def by_book(self, dataset: str, parts: Books) -> None:
        present = next(iter(parts.values())).columns if parts else ()
        self._declare(dataset, ["book", *present])
        for book, rows in parts.items():
            self._written.append(self._pool.submit(write_table, self._folder, dataset, rows, book))

    def document(self, relative: str, dataset: str, data: bytes) -> None:
        self.files.append(write_document(self._folder, relative, dataset, data))

    def finish(self) -> None:
        self.files = [future.result() for future in self._written] + self.files

    def _declare(self, dataset: str, present: Iterable[str]) -> None:
        names = set(present)
        self.columns[dataset] = tuple(
            column.name for column in PUBLISHED_TABLES[dataset].published_columns if column.name in names
        )


def _manifest(
    seal: Seal,
    snapshot: str,
    files: list[FileEntry],
    columns: dict[str, tuple[str, ...]],
    warnings: tuple[dict[str, Any], ...],
) -> Manifest:
    return Manifest(
        schema_version=schema_version(),
        alpha_id=seal.alpha_id,
        source_alpha_id=seal.source_alpha_id,
        snapshot=snapshot,
        seal_digest=seal.digest,
        started_at=_instant(seal.started_at),
        sealed_at=_instant(seal.sealed_at),
        equity_basis=seal.equity_basis,
        smoothing=dict(seal.smoothing) if seal.smoothing is not None else None,
        engine=dict(seal.engine),
        kinds=tuple(kind for kind in KINDS if seal.has(kind)),
        missing=_missing(seal),
        columns=columns,
        files=tuple(files),
        warnings=warnings,
    )


def _pointer(seal: Seal, manifest: Manifest) -> Pointer:
    return pointer_of(manifest, seal.description() if seal.has("description") else None)


def _missing(seal: Seal) -> tuple[str, ...]:
    return tuple(kind for kind in REQUIRED_KINDS if not seal.has(kind))


def _instant(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
