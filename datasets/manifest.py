"""The manifest of a snapshot, and the JSON format of manifests and pointers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, TypeVar

import msgspec
import orjson

from schemas.errors import OtherFormat, SnapshotCorrupt

FORMAT: Final = 1
"""Version of the fields of manifests and pointers. Bump it when a field is removed or changes its meaning, or when readers must
not ignore a new one. Columns and formulas have their own version, :func:`schemas.version.schema_version`."""
NO_SEAL: Final = "nothing"
"""Seal digest of the empty snapshot of a withdrawn alpha."""
Document = TypeVar("Document")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One published file.

    Attributes
    ----------
    path
        Path relative to the snapshot's folder.
    dataset, book
        Dataset of the file, and its book; None if the dataset is not stored by book.
    rows
        Number of rows; 0 for documents.
    bytes, sha256
        Size in bytes, and digest.
    first, last
        First and last day with a row (YYYY-MM-DD); None if no row has a day.
    """

    path: str
    dataset: str
    book: str | None
    rows: int
    bytes: int
    sha256: str
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a snapshot's files.

    Attributes
    ----------
    schema_version
        Version of the declarations that the snapshot was built with.
    alpha_id, source_alpha_id, snapshot, seal_digest
        Ids and digest; the snapshot's id is a digest of all other fields.
    started_at, sealed_at
        Times of the run, ISO-8601 UTC.
    equity_basis, smoothing, engine
        As sealed.
    kinds, missing
        Kinds of the seal that are present, and required ones that are not.
    columns
        Dataset -> its published columns, in declared order.
    files
        Every file of the snapshot except the manifest.
    warnings
        Warnings of the check.
    rules
        Ids of the rules known to the build.
    built_with
        Library -> version that wrote the files.
    reconciliation
        ``declared``: the seal's declared differences; ``figures``: each sealed figure with its recomputed value and the
        convention that reproduces it.
    checks
        One entry per rule, in the order of the rules: ``rule``; ``outcome``, which is ``pass``, ``notice`` (a warning) or
        ``not_checked``; ``reason`` if it was not checked, else None; ``checked`` and ``of``, the number of
        rows that the rule could compare and of all rows, None if it compares all or none; ``checked_without_raw``, the number
        without the raw books.
    notices
        One entry per declared notice, in declared order, including those that pass: ``notice`` (its id), ``outcome``,
        ``figure``, ``value``, ``threshold``, ``unit``, ``reason``, ``message``, ``raw`` (computed from raw columns or
        books) and ``details``; ``details["alphas"]`` names the other runs that an entry concerns.
    history
        One entry per earlier seal of the alpha, oldest first: ``seal_digest``, ``sealed_at`` and ``snapshot``;
        ``outcome``, which is ``extended`` or ``restated``; ``common_weeks``, ``restated_weeks`` by kind of data,
        ``restated_since``, ``mean_ic_before`` and ``mean_ic_after`` (:func:`datasets.provenance.sealed_weeks.compare`).
    weekly_digests
        Week -> digest of its ``scores``, ``targets``, ``forward_returns`` and ``fills``; None if the run did not seal
        them (:mod:`datasets.provenance.sealed_weeks`).
    sealed_by
        Team whose key signed the seal; None if the deployment requires no signature.
    """

    schema_version: str
    alpha_id: str
    source_alpha_id: str
    snapshot: str
    seal_digest: str
    started_at: str
    sealed_at: str
    equity_basis: float
    smoothing: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    kinds: tuple[str, ...]
    missing: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    files: tuple[FileEntry, ...]
    warnings: tuple[Mapping[str, Any], ...] = ()
    rules: tuple[str, ...] = ()
    built_with: Mapping[str, str] = field(default_factory=dict)
    reconciliation: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    weekly_digests: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    sealed_by: str | None = None

    def with_id(self) -> Manifest:
        """Return this manifest with the snapshot id derived from its content."""
        return replace(self, snapshot=_content_id(self.document()))

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return encode(self.document())

    def document(self) -> dict[str, Any]:
        """Return the manifest as a JSON-ready dict; values are shared, not copied."""
        document: dict[str, Any] = {x.name: getattr(self, x.name) for x in fields(self)}
        if self.sealed_by is None:
            del document["sealed_by"]
        return document | {"format": FORMAT, "files": [asdict(entry) for entry in self.files]}

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Manifest:
        """Decode a manifest; `origin` names the file, errors are those of :func:`datasets.manifest.decode`."""
        return decode(data, cls, origin, "the manifest of a snapshot")


def has_content_id(data: bytes, snapshot: str) -> bool:
    """Whether a snapshot id is the one derived from the bytes of a manifest."""
    try:
        content = orjson.loads(data)
        return bool(content["snapshot"] == snapshot == _content_id(content))
    except (ValueError, KeyError, TypeError):
        return False


def _content_id(document: Mapping[str, Any]) -> str:
    """Return the snapshot id: a digest of the manifest without the id."""
    return digest(encode({name: value for name, value in document.items() if name != "snapshot"}))[:20]


def decode(data: bytes, kind: type[Document], origin: str, what: str) -> Document:
    """Decode and validate a JSON document of this program's format; undeclared fields are ignored.

    Parameters
    ----------
    kind
        Dataclass that declares the fields.
    origin, what
        Name of the file and of the expected document, for messages.

    Raises
    ------
    SnapshotCorrupt
        When the bytes are not JSON, or a field is missing or of another type.
    OtherFormat
        When the document has another format.
    """
    if not data:
        raise SnapshotCorrupt(
            f"{origin} is not {what}: it is empty, too large, or not a regular file; remove it"
        )
    try:
        version = msgspec.json.decode(data, type=_Head).format
        if version == FORMAT:
            return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise SnapshotCorrupt(f"{origin} is not {what}: {error}") from error
    written = "names no format" if version is None else f"is of format {version}"
    raise OtherFormat(
        f"{origin} {written}, and this program reads format {FORMAT}: build the seal again with "
        "`alpha-results build SEAL --force`, or all seals below a folder with `--from FOLDER --force`"
    )


@dataclass(frozen=True, slots=True)
class _Head:
    format: int | None = None


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a JSON document canonically: sorted keys, indented, one newline at the end."""
    return orjson.dumps(
        document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
