"""``alpha-results export``: write a catalogue of all served snapshots."""

from __future__ import annotations

import os
import shutil
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pipeline.housekeeping.command_line import json_option, opened, print_json, root_option
from schemas.console.terminal import echo
from schemas.errors import SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.exit_codes import ExitCode
from schemas.extras import extra
from schemas.plurals import counted
from schemas.settings.options import WholeNumber

if TYPE_CHECKING:
    from datasets.pointer import Pointer
    from datasets.storage import Storage
    from pipeline.export.iceberg import PublishedFile

_DAY_SECONDS: Final = 86_400


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end a command by an exception, as Ctrl-C does, so that it removes what it wrote."""

    def end(*_: object) -> None:
        raise SystemExit(ExitCode.TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@click.command()
@root_option
@click.option(
    "--to",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="A new or empty folder for the catalogue, which must not be moved later.",
)
@click.option(
    "--days",
    type=WholeNumber(1, 3650),
    default=7,
    show_default=True,
    help="How long a lease in the root protects the files of the catalogue from gc.",
)
@json_option
@_ended_by_sigterm()
def export(*, root: str, folder: Path, days: int, as_json: bool) -> None:
    """Write an Apache Iceberg catalogue over the files of all currently served snapshots.

    One query then reads all alphas: `alpha_id` and `book` are columns. No file is copied: the catalogue points to the files of
    the root, including raw columns and books, so readers need access to the root.

    Exit code: 0, 2 for a folder that cannot be used, 4 when a pointer or a manifest is damaged, 5 when the store is unavailable or
    the folder cannot be written, 130 after Ctrl-C and 143 after SIGTERM, which leave neither a catalogue nor a lease.
    """
    from datasets.disk import make_folder, writing
    from datasets.publication.leases import remove_lease, write_lease

    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise SettingsError(
            "the working folder was removed, and pyiceberg looks there for its settings; change to another folder"
        ) from error
    with extra("export", "export"):
        from pipeline.export.iceberg import CATALOGUE, reserve, write_catalogue

    folder = folder.absolute()
    _require_addressable("--to", folder)
    _require_empty(folder)
    storage = opened(root)
    if storage.folder is not None:
        _require_addressable("--datasets", storage.folder)
        if folder.resolve().is_relative_to(storage.folder.resolve()):
            raise SettingsError(
                f"--to: {folder} is inside the root {storage.address}; name a folder outside it"
            )
    now = datetime.now(UTC)
    reader = f"export-{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"  # two exports may begin in the same second
    try:
        # The lease is written first, so that it protects every snapshot that is served from now on.
        write_lease(storage, reader, now, now, seconds=days * _DAY_SECONDS)
        served = _served(storage)
        with writing(folder):
            make_folder(folder)
            try:
                reserve(folder)
                rows = write_catalogue(folder, _files(storage, served))
            except SettingsError:  # the folder of another export
                raise
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    except BaseException:
        with suppress(StorageUnavailable):  # of the two errors, that of the export is reported
            remove_lease(storage, reader)
        raise
    if as_json:
        print_json(
            {"catalogue": str(folder / CATALOGUE), "alphas": len(served), "rows": rows, "lease": reader}
        )
        return
    echo(
        f"{folder / CATALOGUE}: {counted(len(rows), 'table')} over {counted(len(served), 'alpha')}, for {counted(days, 'day')}"
    )


def _served(storage: Storage) -> tuple[Pointer, ...]:
    """Return the pointers of all served alphas; raises SnapshotCorrupt when one cannot be read."""
    from datasets.catalogue.live import Catalogue

    catalogue = Catalogue(storage)
    catalogue.refresh()
    if catalogue.broken:
        alpha, reason = min(catalogue.broken.items())
        raise SnapshotCorrupt(
            f"{reason}; the catalogue would lack {alpha}: restore its pointer from a backup, or remove it and build the latest seal"
        )
    return catalogue.listing.pointers


def _require_empty(folder: Path) -> None:
    """Refuse a path that is not a folder, or a folder that is not empty; a missing one is created later."""
    from datasets.disk import reading
    from datasets.storage import open_storage
    from pipeline.folder import require_folder

    require_folder(open_storage(folder), "--to", "name a new folder", allow_missing=True)
    with reading(folder):
        if folder.exists() and any(folder.iterdir()):
            raise SettingsError(f"--to: {folder} is not empty; name a new folder")


def _require_addressable(option: str, path: Path) -> None:
    """Refuse a path that the addresses of Iceberg cannot hold: readers would look for its files elsewhere."""
    if not {"?", "#"}.isdisjoint(str(path)) or "\ufffd" in os.fsencode(path).decode("utf-8", "replace"):
        raise SettingsError(
            f"{option}: {path} cannot be an address in a catalogue, since its name holds '?', '#' or bytes that are not UTF-8; "
            "name another folder"
        )


def _files(storage: Storage, pointers: tuple[Pointer, ...]) -> Iterator[PublishedFile]:
    from datasets.layout import snapshot_path
    from datasets.snapshot import Snapshot
    from pipeline.export.iceberg import PublishedFile
    from schemas.tables import PUBLISHED_TABLES

    for pointer in pointers:
        folder = snapshot_path(pointer.alpha_id, pointer.snapshot)
        if storage.folder is None:
            base = storage.url(folder)
        else:  # Iceberg stores file names unescaped, unlike URIs
            base = f"file://{(Path(storage.folder) / folder).absolute()}"
        for entry in Snapshot(storage, pointer).manifest.files:
            if entry.dataset in PUBLISHED_TABLES:
                yield PublishedFile(pointer.alpha_id, f"{base}/{entry.path}", entry)
