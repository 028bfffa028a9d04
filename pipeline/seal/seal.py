"""A seal: opened once, every file read once, every table decoded once."""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

import polars as pl

from datasets.disk import NotRegular, TooLarge, temporary_folder
from pipeline.rule import Finding
from pipeline.seal.declared_differences import DeclaredDifferences
from pipeline.seal.document_rules import compare_description, description_object, description_shape
from pipeline.seal.file_rules import (
    OTHER_BYTES,
    FileFact,
    seal_digest,
    seal_manifest,
    seal_path,
    seal_size,
    table_columns,
)
from pipeline.seal.manifest import MANIFEST_FILE, KindEntry, SealManifest, parse_manifest
from pipeline.seal.records import SealedRecords, decode_metrics, metrics_record
from pipeline.seal.signature import MAX_ENVELOPE_BYTES, SIGNATURE_FILE, TeamKeys, Unsigned, verify
from pipeline.seal.store import SealStore, lexical_fault
from pipeline.seal.strict_json import NotJson, parse_json
from pipeline.seal.tables import DecodedTable, decode_table
from schemas.console.terminal import visible
from schemas.errors import SealRefused, SealUnreadable
from schemas.kinds import MAX_BYTES
from schemas.objects.seal import FOLDER_KIND
from schemas.tables import SEALED_TABLES

LARGE_KINDS: Final = ("decisions", "positions", "pnl", "trades")
"""Tables with rows by name."""
LARGE_ROWS: Final = 6_000_000
"""Total rows of the large tables above which a seal is read in parts."""


class Seal:
    """One seal, at a local path or URL of a supported store. Created by :meth:`open`.

    All returned data are verified: a path is followed only if it stays inside the seal, and bytes are decoded only
    if they match their digest; otherwise :class:`~schemas.errors.SealRefused` is raised with the broken rule. Bytes
    and tables stay in memory until :meth:`drop`, so that the build uses exactly the data that was checked.
    Different kinds may be read from different threads.

    Attributes
    ----------
    address
        Address of the seal, without user names or passwords.
    alpha_id, source_alpha_id, started_at, sealed_at, equity_basis, smoothing, declared, engine, kinds
        As in ``seal.json``; `source_alpha_id` is `alpha_id` where the manifest says null.
    in_parts
        Whether its large tables are copied to temporary files and decoded in parts.
    digest
        SHA-256 (hex) of the bytes of ``seal.json``; since the manifest holds all other digests, it identifies the seal.
    """

    def __init__(self, store: SealStore, manifest: SealManifest, digest: str) -> None:
        self.address = store.name
        self.alpha_id: str = manifest.alpha_id
        self.source_alpha_id: str = manifest.source_alpha_id
        self.started_at: datetime = manifest.started_at
        self.sealed_at: datetime = manifest.sealed_at
        self.equity_basis: float = manifest.equity_basis
        self.smoothing: Mapping[str, Any] | None = manifest.smoothing
        self.declared: DeclaredDifferences = manifest.declared
        self.engine: Mapping[str, Any] = manifest.engine
        self.kinds: Mapping[str, KindEntry] = manifest.kinds
        self.unknown_keys: tuple[str, ...] = manifest.unknown_keys
        self.digest = digest
        self._store = store
        self._facts: dict[str, tuple[FileFact, ...]] = {}
        self._bytes: dict[tuple[str, str], bytes] = {}
        self._tables: dict[str, DecodedTable] = {}
        self._records: SealedRecords | None = None
        self._copies: dict[str, IO[bytes]] = {}
        rows = [(manifest.kinds[kind].rows or 0) for kind in LARGE_KINDS if kind in manifest.kinds]
        self.in_parts = sum(rows) > LARGE_ROWS

    @classmethod
    def open(cls, address: str) -> Seal:
        """Read the manifest of the seal at an address.

        Raises
        ------
        SealUnreadable
            When there is no ``seal.json``: there is no seal, or it is not finished.
        SealRefused
            When the manifest breaks the rule ``seal.manifest``.
        StorageUnavailable
            When the store does not answer.
        """
        store = SealStore(str(address))
        raw = _manifest(store)
        if raw is None:
            if store.is_file():
                raise SealUnreadable(
                    f"{store.name}: this is a file; a seal is the folder that holds a {MANIFEST_FILE}, so give that"
                )
            if (seal := store.first_folder_with(MANIFEST_FILE)) is not None:
                raise SealUnreadable(
                    f"{store.name}: this folder is not a seal but contains seals, such as {visible(repr(seal))}; name each, "
                    f"or publish them all with `alpha-results build --from {store.name}`"
                )
            lacking = "such folder" if store.missing else MANIFEST_FILE
            raise SealUnreadable(
                f"{store.name}: there is no {lacking}, so there is no finished seal here; "
                "check the address, or wait until the engine has written it"
            )
        manifest, problems = parse_manifest(raw)
        if manifest is None:
            raise _refused(store.name, seal_manifest(problems))
        return cls(store, manifest, hashlib.sha256(raw).hexdigest())

    def has(self, kind: str) -> bool:
        """Return whether the seal has this kind."""
        return kind in self.kinds

    def path_faults(self, kind: str) -> dict[str, str]:
        """Return the declared paths of a kind that must not be followed, each with the reason."""
        entry = self.kinds[kind]
        if (fault := lexical_fault(entry.path, folder=entry.is_folder)) is not None:
            return {entry.path: fault}
        faults = {
            path: (lexical_fault(name) if entry.is_folder else None) or self._store.link_fault(path)
            for name, path in entry.paths.items()
        }
        return {path: fault for path, fault in faults.items() if fault is not None}

    def signed_by(self, keys: TeamKeys) -> str:
        """Return the team that signed the seal.

        Raises
        ------
        Unsigned
            When none of the teams signed it, or its envelope belongs to another seal.
        """
        try:
            envelope = self._store.read(SIGNATURE_FILE, MAX_ENVELOPE_BYTES)
        except (NotRegular, TooLarge) as error:
            raise Unsigned(f"{SIGNATURE_FILE} is not a file of at most {MAX_ENVELOPE_BYTES} bytes") from error
        if envelope is None:
            raise Unsigned(f"it has no {SIGNATURE_FILE}")
        signed = verify(envelope, keys)
        if (signed.seal_digest, signed.alpha_id) != (self.digest, self.alpha_id):
            raise Unsigned(f"its {SIGNATURE_FILE} belongs to another seal, of {signed.alpha_id}")
        return signed.team

    def files(self, kind: str) -> tuple[FileFact, ...]:
        """Read and hash the files of a kind once; return them with their declarations.

        Raises
        ------
        SealRefused
            When a path must not be followed.
        StorageUnavailable
            When the store does not answer.
        """
        if kind not in self._facts:
            self._require(seal_path(kind, self.path_faults(kind)))
            entry = self.kinds[kind]
            self._facts[kind] = tuple(
                self._fact(kind, entry, name, path) for name, path in entry.paths.items()
            )
        return self._facts[kind]

    def read(self, kind: str, name: str = "") -> bytes:
        """Return the verified bytes of a file; not of a table that is decoded.

        Parameters
        ----------
        kind
            Its kind.
        name
            For ``source``, its path as in :meth:`source_files`; other kinds have one file without a name.
        """
        self._verify(kind)
        return self._bytes[kind, name]

    def decode(self, kind: str) -> DecodedTable:
        """Return a table with the problems of its columns, decoded once from verified bytes."""
        if kind not in self._tables:
            if self._is_copied(kind):
                self._verify(kind)
                self._tables[kind] = decode_table(SEALED_TABLES[kind], _path(self._copies[kind]))
            else:
                self._tables[kind] = decode_table(SEALED_TABLES[kind], self.read(kind))
                del self._bytes[kind, ""]
        return self._tables[kind]

    def part(self, kind: str, rows: range, columns: Collection[str] | None = None) -> DecodedTable:
        """Decode a range of rows of a table without caching it; only for a seal that is read in parts."""
        self._verify(kind)
        return decode_table(SEALED_TABLES[kind], _path(self._copies[kind]), rows, columns)

    def decode_height(self, kind: str) -> int:
        """Return the number of rows of a table, 0 if it cannot be decoded; only for a seal that is read in parts."""
        return self.part(kind, range(0)).rows or 0

    def table(self, kind: str) -> pl.DataFrame:
        """Return a table with its declared sealed columns in declared types and order.

        Raises
        ------
        SealRefused
            When a column is missing or of another type.
        """
        decoded = self.decode(kind)
        self._require(table_columns(kind, decoded.rows or 0, decoded.problems))
        return decoded.frame

    def optional_table(self, kind: str) -> pl.DataFrame | None:
        """Return a table as :meth:`table` does; None when the run sealed none."""
        return self.table(kind) if self.has(kind) else None

    def records(self) -> SealedRecords:
        """Return the run's own figures with their problems, decoded once from verified bytes."""
        if self._records is None:
            self._records = decode_metrics(self.read("metrics"))
        return self._records

    def metrics(self) -> pl.DataFrame | None:
        """Return the run's own figures as the columns of ``sealed_metrics``; None when it sealed none.

        Raises
        ------
        SealRefused
            When a record breaks the rule ``metrics.record``.
        """
        if not self.has("metrics"):
            return None
        records = self.records()
        self._require(metrics_record(records))
        return records.frame

    def parsed_description(self) -> dict[str, Any]:
        """Return the description as sealed, of any shape; raises NotJson when it is not a JSON object."""
        document = parse_json(self.read("description"), "description")
        if not isinstance(document, dict):
            raise NotJson("it is JSON but not an object")
        return document

    def description(self) -> dict[str, Any] | None:
        """Return the description; None if the run sealed none.

        Raises
        ------
        SealRefused
            When it breaks the rule ``description.object`` or ``description.shape``.
        """
        if not self.has("description"):
            return None
        try:
            document = self.parsed_description()
        except NotJson as error:
            raise _refused(self.address, description_object(error)) from error
        self._require(description_shape(compare_description(document)))
        return document

    def source_files(self) -> Mapping[str, str]:
        """Return relative path -> SHA-256 of the run's source files; empty when it sealed none."""
        return self.kinds[FOLDER_KIND].files if self.has(FOLDER_KIND) else {}

    def drop(self, kind: str) -> None:
        """Drop the cached data of a kind; the next use reads it again."""
        self._tables.pop(kind, None)
        if kind in self._copies:
            return
        if kind == "metrics":
            self._records = None
        self._facts.pop(kind, None)
        for key in [key for key in self._bytes if key[0] == kind]:
            del self._bytes[key]

    def _fact(self, kind: str, entry: KindEntry, name: str, path: str) -> FileFact:
        limit = MAX_BYTES.get(kind, OTHER_BYTES)
        fact = FileFact(path, entry.files[name], entry.bytes, entry.rows, limit)
        if fact.too_large:
            return fact
        try:
            if self._is_copied(kind):
                # An unnamed copy: other processes cannot change it between check and build, and a crash leaves no file behind.
                self._copies[kind] = tempfile.TemporaryFile(dir=temporary_folder())  # noqa: SIM115 - closed with the seal
                weakref.finalize(self, self._copies[kind].close)
                copied = self._store.copy(path, limit, self._copies[kind])
                return (
                    fact if copied is None else replace(fact, actual_sha256=copied[0], actual_bytes=copied[1])
                )
            raw = self._store.read(path, limit)
        except TooLarge as error:
            return replace(fact, actual_bytes=error.size)
        except NotRegular as error:
            # The paths were just checked, so another process is changing the seal.
            raise _refused(self.address, seal_path(kind, {path: str(error)})) from error
        if raw is None:
            return fact
        self._bytes[kind, name] = raw
        return replace(fact, actual_sha256=hashlib.sha256(raw).hexdigest(), actual_bytes=len(raw))

    def _is_copied(self, kind: str) -> bool:
        return self.in_parts and kind in LARGE_KINDS

    def _verify(self, kind: str) -> None:
        self._require(seal_size(kind, self.files(kind)))
        self._require(seal_digest(kind, self.files(kind)))

    def _require(self, finding: Finding | None) -> None:
        if finding is not None:
            raise _refused(self.address, finding)


def _path(file: IO[bytes]) -> Path:
    """Return a path that reopens an open unnamed file."""
    return Path(f"/dev/fd/{file.fileno()}")


def _manifest(store: SealStore) -> bytes | None:
    """Return the bytes of a manifest; None if there is none. Raises SealRefused if it must not be read."""
    limit = MAX_BYTES["seal"]
    try:
        return store.read(MANIFEST_FILE, limit)
    except NotRegular as error:
        fault = seal_path("seal", {MANIFEST_FILE: str(error)})
        raise _refused(store.name, fault) from error
    except TooLarge as error:
        fact = FileFact(MANIFEST_FILE, "", None, None, limit, actual_bytes=error.size)
        raise _refused(store.name, seal_size("seal", (fact,))) from error


def _refused(address: str, finding: Finding | None) -> SealRefused:
    assert finding is not None
    return SealRefused(f"{address}: {finding.file}: {finding.message}", (finding.to_dict(),))
