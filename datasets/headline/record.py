"""What a pointer records of a snapshot's figures and tags, and whether it is of what is served."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from datasets.manifest import Pointer
from schemas.metrics.headline import HEADLINE_VERSION

SEALED: Final = ""
"""In place of the data a figure was computed from: the run sealed it."""
NOT_RECORDED: Final = "the snapshot was published by a release that recorded no figures; build its seal again"
_NOT_GIVEN: Final = "the figure was not recorded when the snapshot was published"


@dataclass(frozen=True, slots=True)
class Headline:
    """The figures of one snapshot.

    Attributes
    ----------
    values
        Figure -> its value, and the kind of data it was computed from; :data:`SEALED` for a sealed one.
    withheld
        Figure -> why it has no value.
    tags
        Labels of the written description; None where there is none.
    """

    values: Mapping[str, tuple[float, str]]
    withheld: Mapping[str, str]
    tags: tuple[str, ...] | None = None

    def document(self) -> dict[str, Any]:
        """Return what stands in the pointer, JSON-ready."""
        return {
            "version": HEADLINE_VERSION,
            "values": {name: list(entry) for name, entry in self.values.items()},
            "withheld": dict(self.withheld),
            "tags": None if self.tags is None else list(self.tags),
        }

    def reason(self, name: str) -> str:
        """Return why a figure has no value."""
        return self.withheld.get(name, _NOT_GIVEN)


NOTHING: Final = Headline({}, {})


def with_headline(pointer: Pointer, document: Mapping[str, Any]) -> Pointer:
    """Return the pointer with the figures of the snapshot it names.

    They name it too: a release that knows nothing of them hands them on to the pointer of another snapshot.
    """
    recorded = {**document, "snapshot": pointer.snapshot} if document else {}
    return replace(pointer, notes=replace(pointer.notes, headline=recorded))


def has_headline(pointer: Pointer) -> bool:
    """Whether the pointer has figures, of the snapshot it names and as this release computes them."""
    recorded = pointer.notes.headline
    return recorded.get("snapshot") == pointer.snapshot and recorded.get("version") == HEADLINE_VERSION


def headline_of(pointer: Pointer) -> Headline | None:
    """Return the figures of what is served; None when the pointer has none, or none that can be read."""
    if not has_headline(pointer):
        return None
    recorded = pointer.notes.headline
    try:
        values = {str(name): (float(value), str(kind)) for name, (value, kind) in recorded["values"].items()}
        withheld = {str(name): str(reason) for name, reason in recorded["withheld"].items()}
        tags = None if recorded["tags"] is None else tuple(map(str, recorded["tags"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return Headline({n: entry for n, entry in values.items() if math.isfinite(entry[0])}, withheld, tags)
