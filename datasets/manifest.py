"""What a snapshot says of itself, and the pointer that makes one the served one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

import orjson

from datasets.notes import NOTHING_SEALED, Notes, joined, split
from schemas.errors import SnapshotCorrupt
from schemas.version import snapshot_id

MAX_EARLIER_SNAPSHOTS: Final = 1000
"""Earlier snapshots a pointer remembers; gc keeps fewer in any sensible setting."""
_BEFORE_CONTENT: Final = "."
_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError)
"""What reading a document raises that is none: not JSON, of another shape, or without a field."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One published file.

    Attributes
    ----------
    path
        Below the snapshot's folder.
    dataset, book
        What it holds; book is None where the dataset is not partitioned by book.
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
        The version of the declarations the snapshot was built with, a full stop, and a digest of everything else
        that stands here. The first release wrote the version alone.
    alpha_id, source_alpha_id, snapshot, seal_digest
        Identity; the snapshot's id is a digest of `seal_digest` and `schema_version`.
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
    declarations
        Every dataset's key, order, partition and formula, and every column's type, unit, nullability and formula, as
        they were declared to its builder (:func:`schemas.version.declarations`). Empty in the first release.
    rules
        Ids of the rules its builder knew; empty in the first release.
    built_with
        Library -> release that wrote the files.
    reconciliation
        ``declared``: what the seal declares of its engine's ways; ``figures``: each of the run's own figures with its
        recomputed value and the convention that gives it. Empty in snapshots of earlier releases.
    checks
        One entry a rule, in the order of the rules: ``rule``; ``outcome``, which is ``pass``, ``notice`` (a warning) or
        ``not_checked``; ``reason`` of what was not checked, else None; ``checked`` and ``of``, how many rows a rule
        proved and of how many, None where it proves all or none.
    notices
        One entry a declared notice, in declared order, also of those that pass: ``notice`` (its id), ``outcome``,
        ``figure``, ``value``, ``threshold``, ``unit``, ``reason``, ``message``, ``raw`` (made of raw columns or books)
        and ``details``; other runs that an entry concerns are named in ``details["alphas"]``.
    history
        One entry an earlier seal of the alpha, oldest first: ``seal_digest``, ``sealed_at`` and ``snapshot``;
        ``outcome``, which is ``extended`` or ``restated``; ``common_weeks``, ``restated_weeks`` by what was restated,
        ``restated_since``, ``mean_ic_before`` and ``mean_ic_after``.
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
    declarations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    built_with: Mapping[str, str] = field(default_factory=dict)
    reconciliation: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()

    @property
    def declared(self) -> str:
        """The version of the declarations the snapshot was built with."""
        return self.schema_version.partition(_BEFORE_CONTENT)[0]

    def named(self) -> Manifest:
        """Return this manifest under the id that its content gives: other content, another snapshot."""
        version = f"{self.declared}{_BEFORE_CONTENT}{_content(self.document())}"
        return replace(self, schema_version=version, snapshot=snapshot_id(self.seal_digest, version))

    def encode(self) -> bytes:
        """Return the canonical bytes: the same manifest always encodes the same."""
        return encode(self.document())

    def document(self) -> dict[str, Any]:
        """Return the manifest as a JSON-ready mapping; what it holds is shared, not copied."""
        shown: dict[str, Any] = {name.name: getattr(self, name.name) for name in fields(self)}
        return shown | {"files": [asdict(entry) for entry in self.files]}

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Manifest:
        """Read a manifest back.

        Raises
        ------
        SnapshotCorrupt
            When the bytes are not a manifest; `origin` names the file in the message.
        """
        try:
            found = orjson.loads(data)
            found["files"] = tuple(FileEntry(**_known(FileEntry, entry)) for entry in found["files"])
            found["columns"] = {name: tuple(columns) for name, columns in found["columns"].items()}
            for name in ("kinds", "missing", "warnings", "rules", "checks", "notices", "history"):
                found[name] = tuple(found.get(name, ()))
            return cls(**_known(cls, found))
        except _UNREADABLE as error:
            raise SnapshotCorrupt(f"{origin} is not the manifest of a snapshot: {error}") from error


def named_by_content(data: bytes, snapshot: str) -> bool:
    """Whether the bytes of a manifest are those that a snapshot's id was made of.

    Of a snapshot of the first release the id says less: which seal it was built from, and with which declarations.
    """
    try:
        found = orjson.loads(data)
        version = found["schema_version"]
        content = version.partition(_BEFORE_CONTENT)[2]
        if content and content != _content(found):
            return False
        return bool(found["snapshot"] == snapshot == snapshot_id(found["seal_digest"], version))
    except _UNREADABLE:
        return False


def _content(document: Mapping[str, Any]) -> str:
    """Digest what a manifest says, but for its own name."""
    said = {name: value for name, value in document.items() if name != "snapshot"}
    said["schema_version"] = said["schema_version"].partition(_BEFORE_CONTENT)[0]
    return digest(encode(said))[:40]


def _known(kind: type[Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what a later release wrote: it changes none of the fields that this one knows."""
    return {name: value for name, value in found.items() if name in kind.__dataclass_fields__}


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
        Earlier snapshot -> when it stopped being served, of the last :data:`MAX_EARLIER_SNAPSHOTS`.
    withdrawn
        Snapshots an operator rolled back from, for builders of the first release: `notes` name what was sealed.
    removing
        Snapshots that gc is removing at this moment: their files may be gone already.
    notes
        What is remembered beyond that; :mod:`datasets.notes` says how it is written.
    unknown
        Fields of a later release, written again by whoever only changes another field.
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
    notes: Notes = field(default_factory=Notes)
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_withdrawn(self) -> bool:
        """Whether nothing of the alpha is to be served: an operator withdrew it, and no build came since it was restored."""
        return bool(self.notes.withdrawn) or self.made_of[0] == NOTHING_SEALED

    @property
    def made_of(self) -> tuple[str, str]:
        """Digest of the seal that is served and version of its declarations; empty texts where only its manifest says."""
        known = self.notes.snapshot == self.snapshot
        return (self.notes.seal_digest, self.notes.schema_version) if known else ("", "")

    @property
    def first_published_at(self) -> str:
        """When this very snapshot became the served one for the first time: a rollback to it changes nothing of that."""
        known = self.notes.snapshot == self.snapshot
        return (known and self.notes.published_at) or self.published_at

    def document(self) -> dict[str, Any]:
        """Return the pointer as it is written: in the fields of the first release."""
        stored = asdict(self)
        del stored["notes"], stored["unknown"]
        stored["withdrawn"] = joined(self.withdrawn, self.notes)
        return {**self.unknown, **stored}

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return encode(self.document())

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Pointer:
        """Read a pointer back; SnapshotCorrupt when the bytes are none. What a later release added is not an error."""
        try:
            found = dict(orjson.loads(data))
            found["missing"] = tuple(found["missing"])
            found["kinds"] = tuple(found["kinds"])
            found["removing"] = tuple(found.get("removing", ()))
            found["withdrawn"], found["notes"] = split(found.get("withdrawn", ()))
            known = _known(cls, found)
            known["unknown"] = {name: value for name, value in found.items() if name not in known}
            return cls(**known)
        except _UNREADABLE as error:
            raise SnapshotCorrupt(f"{origin} is not a pointer: {error}") from error


def make_pointer(manifest: Manifest, description: Mapping[str, Any] | None) -> Pointer:
    """Return the pointer to a snapshot, but for the digest of its manifest and the time of publication.

    Parameters
    ----------
    description
        The written description, whose name and summary stand in the list of alphas; None when the run has none.
    """
    stored = description or {}
    return Pointer(
        alpha_id=manifest.alpha_id,
        snapshot=manifest.snapshot,
        manifest_sha256="",
        name=stored.get("name") or manifest.alpha_id,
        tldr=stored.get("tldr"),
        complete=not manifest.missing,
        missing=manifest.missing,
        started_at=manifest.started_at,
        sealed_at=manifest.sealed_at,
        published_at="",
        kinds=manifest.kinds,
        notes=Notes(manifest.snapshot, manifest.seal_digest, manifest.declared),
    )


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a JSON document canonically: sorted keys, indented, one newline at the end."""
    return orjson.dumps(
        document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
