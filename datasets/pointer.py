"""The pointer of an alpha: its served and earlier snapshots, and the operators' decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

from msgspec import Meta

from datasets.layout import SNAPSHOT_ID
from datasets.manifest import (
    FORMAT,
    NO_SEAL,
    Manifest,
    decode,
    encode,
)

MAX_EARLIER_SNAPSHOTS: Final = 1000
"""Maximum number of earlier snapshots in a pointer; gc usually keeps far fewer."""
MAX_DECISIONS: Final = 20
"""Maximum number of decisions in a pointer; the latest are kept."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A snapshot that was served before.

    Attributes
    ----------
    published_at
        When it was first served, ISO-8601 UTC.
    replaced_at
        When it was last replaced, ISO-8601 UTC.
    manifest_sha256
        Digest of its manifest.
    """

    published_at: str
    replaced_at: str
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class RollbackScope:
    """The scope of a rollback.

    A rollback normally covers the seal, not the files of one build. If the seal is built again with other declarations or
    another library version, its new snapshot is rolled back as well. A rollback between two builds of the same seal covers
    only the version of the declarations. If the two builds differ only in the library version, it covers only the files.

    Attributes
    ----------
    seal_digest
        Digest of the seal; None if the rollback covers only the files.
    schema_version
        Version of the declarations; None if the rollback covers the seal built with any version.
    """

    seal_digest: str | None
    schema_version: str | None

    def covers(self, seal_digest: str, schema_version: str) -> bool:
        """Whether the rollback covers a seal built with a version of the declarations."""
        return seal_digest == self.seal_digest and self.schema_version in (None, schema_version)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of an operator on an alpha.

    Attributes
    ----------
    act
        ``rollback``, ``withdraw`` or ``restore``.
    at, by, reason
        Time (ISO-8601 UTC), operator (user@host), and reason; an empty text if none was given.
    snapshot
        The snapshot that was served before the decision; for ``restore``, the one that is served again.
    """

    act: str
    at: str
    by: str
    reason: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """The served snapshot of an alpha, with its row in the list of alphas.

    Attributes
    ----------
    alpha_id, snapshot
        The alpha and its served snapshot.
    manifest_sha256
        Digest of the snapshot's manifest.
    name, tldr
        Name and summary shown in lists; the name defaults to the alpha's id.
    complete, missing
        Whether all required kinds are present, and the missing ones.
    started_at, sealed_at, published_at
        ISO-8601 UTC; `published_at` is when the snapshot last became the served one.
    kinds
        Kinds of the seal that are present.
    seal_digest, schema_version
        Digest of the seal, and version of the declarations, from which the snapshot was built.
    first_published_at
        When the snapshot was first served; a rollback to it does not change this time.
    begun_at
        When the first snapshot of the alpha was served, which gc may have removed since; empty if that was not recorded.
    earlier
        Id -> snapshot served before; the last :data:`MAX_EARLIER_SNAPSHOTS` are kept.
    rolled_back
        Id of a snapshot that an operator rolled back -> scope of the rollback.
    removing
        Ids of snapshots that gc is removing; some of their files may already be gone.
    withdrawn
        The snapshot that was served when the alpha was withdrawn; None if it is not withdrawn.
    decisions
        The latest decisions of operators, oldest first.
    headline
        Headline figures of the alpha in lists (:mod:`datasets.figures.headline`), as stored.
    """

    alpha_id: str
    snapshot: Annotated[str, Meta(pattern=SNAPSHOT_ID)]
    manifest_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    name: str
    tldr: str | None
    complete: bool
    missing: tuple[str, ...]
    started_at: str
    sealed_at: str
    published_at: str
    kinds: tuple[str, ...] = ()
    seal_digest: str = ""
    schema_version: str = ""
    first_published_at: str = ""
    begun_at: str = ""
    earlier: Mapping[str, Earlier] = field(default_factory=dict)
    rolled_back: Mapping[str, RollbackScope] = field(default_factory=dict)
    removing: tuple[str, ...] = ()
    withdrawn: str | None = None
    decisions: tuple[Decision, ...] = ()
    headline: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the snapshot among all alphas."""
        return self.alpha_id, self.snapshot

    @property
    def is_withdrawn(self) -> bool:
        """Whether the alpha is withdrawn, or was restored and not built since."""
        return self.withdrawn is not None or self.seal_digest == NO_SEAL

    def was_rolled_back(self, seal_digest: str, schema_version: str) -> bool:
        """Whether an operator rolled back a seal built with a version of the declarations."""
        return any(scope.covers(seal_digest, schema_version) for scope in self.rolled_back.values())

    def with_decision(self, decision: Decision) -> tuple[Decision, ...]:
        """Return the decisions with a new one appended."""
        return (*self.decisions, decision)[-MAX_DECISIONS:]

    def encode(self) -> bytes:
        """Return the canonical bytes."""
        return encode({"format": FORMAT, **asdict(self)})

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Pointer:
        """Decode a pointer; `origin` names the file, errors are those of :func:`datasets.manifest.decode`."""
        return decode(data, cls, origin, "a pointer")


def make_pointer(manifest: Manifest, manifest_sha256: str, description: Mapping[str, Any] | None) -> Pointer:
    """Return the pointer to a snapshot; the caller adds the headline figures and the time of publication.

    Parameters
    ----------
    manifest, manifest_sha256
        Manifest of the snapshot, and digest of its stored bytes.
    description
        The description, whose name and summary are shown in lists; None if the run has none.
    """
    stored = description or {}
    return Pointer(
        alpha_id=manifest.alpha_id,
        snapshot=manifest.snapshot,
        manifest_sha256=manifest_sha256,
        name=stored.get("name") or manifest.alpha_id,
        tldr=stored.get("tldr"),
        complete=not manifest.missing,
        missing=manifest.missing,
        started_at=manifest.started_at,
        sealed_at=manifest.sealed_at,
        published_at="",
        kinds=manifest.kinds,
        seal_digest=manifest.seal_digest,
        schema_version=manifest.schema_version,
    )
