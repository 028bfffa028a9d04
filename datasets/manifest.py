"""What a snapshot says of itself, and the pointer that makes one the served one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from schemas.errors import SnapshotCorrupt

REMEMBERED: Final = 100
"""Earlier snapshots a pointer remembers; gc keeps fewer in any sensible setting."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One published file.

    Attributes
    ----------
    path
        Below the snapshot's folder.
    dataset, book
        What it holds; book is None where the dataset is not kept by book.
    rows
        Its rows; 0 for documents.
    bytes, sha256
        Its size and digest.
    first, last
        First and last day with a row (YYYY-MM-DD), None when there is none.
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
    """Everything a reader must know before opening a file of the snapshot.

    Attributes
    ----------
    schema_version
        Of the declarations the snapshot was built with.
    alpha_id, source_alpha_id, snapshot, seal_digest
        Identity.
    started_at, sealed_at
        Of the run, ISO-8601 UTC.
    equity_basis, smoothing, engine
        As sealed.
    kinds, missing
        Kinds of the seal that are present, and required ones that are not.
    columns
        Dataset -> published columns that are present, in declared order.
    files
        Every file of the snapshot but the manifest.
    warnings
        What the rule check noticed without refusing the seal.
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

    def encode(self) -> bytes:
        """Return the canonical bytes: the same manifest always encodes the same."""
        return encode(asdict(self))

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Manifest:
        """Read a manifest back.

        Raises
        ------
        SnapshotCorrupt
            When the bytes are no manifest; `origin` names the file in the message.
        """
        try:
            found = orjson.loads(data)
            found["files"] = tuple(FileEntry(**entry) for entry in found["files"])
            found["columns"] = {name: tuple(columns) for name, columns in found["columns"].items()}
            for name in ("kinds", "missing", "warnings"):
                found[name] = tuple(found[name])
            # A field this version does not know was written by another one: it changes none of those it knows.
            return cls(**{name: value for name, value in found.items() if name in cls.__dataclass_fields__})
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SnapshotCorrupt(f"{origin} is no manifest of a snapshot: {error}") from error


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which snapshot of an alpha is served, with its row in the list of alphas.

    Attributes
    ----------
    alpha_id, snapshot
        What is served.
    manifest_sha256
        Digest of the snapshot's manifest.
    name, tldr
        For the list; name falls back to the alpha's id.
    complete, missing
        Whether all required kinds are there, and which are not.
    started_at, sealed_at, published_at
        ISO-8601 UTC.
    replaced
        Earlier snapshot -> when it stopped being served, of the last :data:`REMEMBERED`.
    withdrawn
        Snapshots an operator rolled back from: they are published again only when forced.
    removing
        Snapshots that gc is removing at this moment: their files may be gone already.
    """

    alpha_id: str
    snapshot: str
    manifest_sha256: str
    name: str
    tldr: str | None
    complete: bool
    missing: tuple[str, ...]
    started_at: str
    sealed_at: str
    published_at: str
    kinds: tuple[str, ...] = field(default=())
    replaced: Mapping[str, str] = field(default_factory=dict)
    withdrawn: tuple[str, ...] = ()
    removing: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return encode(asdict(self))

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Pointer:
        """Read a pointer back; SnapshotCorrupt when the bytes are none."""
        try:
            found = orjson.loads(data)
            found["missing"] = tuple(found["missing"])
            found["kinds"] = tuple(found["kinds"])
            for name in ("withdrawn", "removing"):
                found[name] = tuple(found.get(name, ()))
            return cls(**found)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise SnapshotCorrupt(f"{origin} is no pointer: {error}") from error


def pointer_of(manifest: Manifest, description: Mapping[str, Any] | None) -> Pointer:
    """Return the pointer to a snapshot, but for the digest of its manifest and the time of publication.

    Parameters
    ----------
    description
        The written description, whose name and summary stand in the list of alphas; None when the run has none.
    """
    told = description or {}
    return Pointer(
        alpha_id=manifest.alpha_id,
        snapshot=manifest.snapshot,
        manifest_sha256="",
        name=told.get("name") or manifest.alpha_id,
        tldr=told.get("tldr"),
        complete=not manifest.missing,
        missing=manifest.missing,
        started_at=manifest.started_at,
        sealed_at=manifest.sealed_at,
        published_at="",
        kinds=manifest.kinds,
    )


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a JSON document canonically: sorted keys, indented, one newline at the end."""
    return orjson.dumps(
        document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
