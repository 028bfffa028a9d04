"""What a pointer remembers beyond which snapshot is served: what that was made of, earlier ones, and decisions.

The first release wrote pointers of a fixed set of fields and reads no other. Its list ``withdrawn`` holds texts that it
compares with ids of snapshots and otherwise hands on, from one pointer to the next. The notes are therefore one more
text in that list, a JSON object: readers of the first release go on reading pointers, and its builders, which know
nothing of the notes, carry an operator's decisions over instead of losing them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import orjson

_MARK: Final = "{"
DECISIONS: Final = 20
"""Decisions of operators that are remembered, the latest ones."""
NOTHING_SEALED: Final = "nothing"
"""In place of a seal's digest: the snapshot is the empty one that stands for a withdrawn alpha."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A snapshot that was served before.

    Attributes
    ----------
    published_at
        When it became the served one for the first time, ISO-8601 UTC.
    manifest_sha256
        Digest of its manifest.
    """

    published_at: str
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What an operator did to an alpha.

    Attributes
    ----------
    act
        ``rollback``, ``withdraw`` or ``restore``.
    at, by, reason
        When (ISO-8601 UTC), who (user@host), and why; no reason is the empty text.
    snapshot
        The snapshot that was served until then, or is again.
    """

    act: str
    at: str
    by: str
    reason: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one pointer.

    Attributes
    ----------
    snapshot
        Which snapshot the next three are of: a builder of the first release moves a pointer without knowing them.
    seal_digest, schema_version
        What it was built from: the seal, and the version of the declarations.
    published_at
        When it became the served one for the first time, ISO-8601 UTC.
    rolled_back
        Snapshot that an operator rolled back from -> digest of its seal. With ``@`` and a version of the declarations
        behind it: only what that version made of the seal. ``@`` alone: only those files.
    earlier
        Snapshot -> what is known of it, for those that were served before.
    withdrawn
        The snapshot that was served when the alpha was withdrawn; empty when it is not withdrawn.
    decisions
        The latest decisions of operators, oldest first.
    headline
        The figures by which alphas are listed (:mod:`datasets.headline.record`), as written: whoever reads them judges
        whether they are of what is served.
    unknown
        What a later release wrote here: handed on unread.
    """

    snapshot: str = ""
    seal_digest: str = ""
    schema_version: str = ""
    published_at: str = ""
    rolled_back: Mapping[str, str] = field(default_factory=dict)
    earlier: Mapping[str, Earlier] = field(default_factory=dict)
    withdrawn: str = ""
    decisions: tuple[Decision, ...] = ()
    headline: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)

    def encode(self) -> str:
        """Return the notes as one text; empty notes are the empty text."""
        stored = {name: value for name, value in asdict(self).items() if value and name != "unknown"}
        stored = {**self.unknown, **stored}
        return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS).decode() if stored else ""

    @classmethod
    def decode(cls, text: str) -> Notes:
        """Read notes back.

        Raises
        ------
        ValueError, TypeError, KeyError
            When the text is none.
        """
        stored = dict(orjson.loads(text))
        known = {each.name for each in fields(cls)} - {"unknown"}
        found = {name: stored.pop(name) for name in known & stored.keys()}
        found["rolled_back"] = {str(k): str(v) for k, v in found.get("rolled_back", {}).items()}
        found["earlier"] = {
            snapshot: Earlier(entry["published_at"], entry["manifest_sha256"])
            for snapshot, entry in found.get("earlier", {}).items()
        }
        found["decisions"] = tuple(
            Decision(*(entry[each.name] for each in fields(Decision))) for entry in found.get("decisions", ())
        )
        found["headline"] = dict(found.get("headline", {}))
        return cls(**found, unknown=stored)

    def decided(self, decision: Decision) -> tuple[Decision, ...]:
        """Return the decisions with one more."""
        return (*self.decisions, decision)[-DECISIONS:]


def split(texts: Sequence[str]) -> tuple[tuple[str, ...], Notes]:
    """Part the ids of snapshots in a pointer's list from the notes in it.

    Raises
    ------
    ValueError, TypeError, KeyError
        When the notes cannot be read.
    """
    ids = tuple(text for text in texts if not text.startswith(_MARK))
    notes = next((text for text in texts if text.startswith(_MARK)), None)
    return ids, Notes() if notes is None else Notes.decode(notes)


def joined(ids: Sequence[str], notes: Notes) -> tuple[str, ...]:
    """Put the notes behind the ids of snapshots, as a pointer's list holds them."""
    text = notes.encode()
    return (*ids, text) if text else tuple(ids)
