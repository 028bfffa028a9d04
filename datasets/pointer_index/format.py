"""What the objects of the index hold, and their bytes.

::

    <root>/index/head.json        the name of the base, and every pointer that moved since: entity tag and size
    <root>/index/<digest>.json    a base: every pointer when it was made, with its text; never changed

Each is one line with the digest of the rest, then a JSON document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from datasets.layout import INDEX
from datasets.manifest import digest
from datasets.storage import Version

HEAD: Final = f"{INDEX}/head.json"
_FORMAT: Final = 1
_NAME_DIGITS: Final = 20
_MAX_TEXT_BYTES: Final = 65_536
"""A longer pointer, one that remembers hundreds of snapshots, is read by itself."""

Mark = tuple[str, int]
"""Entity tag, without quotes, and size of a pointer: what a listing of the store shows of it."""


class IndexDamaged(Exception):
    """An object of the index is not there, or is not what was written."""


@dataclass(frozen=True, slots=True)
class Head:
    """The object that every publication writes and every poll reads.

    Attributes
    ----------
    base
        Name of the base; empty when there is none.
    changes
        Alpha -> its pointer's mark, of those that moved since the base was made.
    """

    base: str = ""
    changes: Mapping[str, Mark] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the bytes of the object."""
        return _sealed({"base": self.base, "changes": self.changes})

    @classmethod
    def decode(cls, data: bytes) -> Head:
        """Read it back; IndexDamaged when the bytes are not a head."""
        found = _opened(data, "the head")
        try:
            marks = {alpha: _mark(*told) for alpha, told in found["changes"].items()}
            return cls(_text(found["base"]), marks)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise IndexDamaged(f"the head has another shape: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Base:
    """Every pointer at one moment.

    Attributes
    ----------
    marks
        Alpha -> its pointer's mark.
    texts
        Alpha -> the bytes of its pointer, but for very long ones.
    """

    marks: Mapping[str, Mark] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def encode(self) -> tuple[str, bytes]:
        """Return its name, a digest of what it holds, and the bytes of the object."""
        pointers = {
            alpha: (*mark, _readable(self.texts.get(alpha))) for alpha, mark in sorted(self.marks.items())
        }
        data = _sealed({"pointers": pointers})
        return data[:_NAME_DIGITS].decode(), data

    @classmethod
    def decode(cls, name: str, data: bytes) -> Base:
        """Read it back; IndexDamaged when the bytes are not the base of that name."""
        found = _opened(data, f"the base {name}")
        if data[:_NAME_DIGITS].decode() != name:
            raise IndexDamaged(f"the base {name} is another one")
        try:
            pointers = found["pointers"].items()
            return cls(
                {alpha: _mark(tag, size) for alpha, (tag, size, _) in pointers},
                {alpha: text.encode() for alpha, (_, _, text) in pointers if text is not None},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise IndexDamaged(f"the base {name} has another shape: {error!r}") from error


def base_path(name: str) -> str:
    """Return where a base lies."""
    return f"{INDEX}/{name}.json"


def mark_of(seen: Version) -> Mark:
    """Return the mark of a pointer as it was read."""
    return (seen.tag or "").strip('"'), len(seen.data or b"")


def _readable(data: bytes | None) -> str | None:
    if data is None or len(data) > _MAX_TEXT_BYTES:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _sealed(document: Mapping[str, Any]) -> bytes:
    body = orjson.dumps({"format": _FORMAT, **document})
    return digest(body).encode() + b"\n" + body


def _opened(data: bytes, what: str) -> Mapping[str, Any]:
    expected, _, body = data.partition(b"\n")
    if digest(body).encode() != expected:
        raise IndexDamaged(f"{what} does not match its digest")
    found = orjson.loads(body)
    if found.get("format") != _FORMAT:
        raise IndexDamaged(
            f"{what} is of format {found.get('format')}, and this program reads format {_FORMAT}"
        )
    return dict(found)


def _mark(tag: Any, size: Any) -> Mark:
    return _text(tag), int(size)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
