"""The declarations a snapshot was built with: by them it is judged, whatever is declared today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

import orjson

from datasets.manifest import Manifest
from schemas.version import declarations

_FIRST: Final = Path(__file__).with_name("declared_in_0_1_0.json")


@dataclass(frozen=True, slots=True)
class Declared:
    """One published table, as it was declared to the builder of a snapshot.

    Attributes
    ----------
    key, sort, partition
        Columns, as in :class:`schemas.table.Table`.
    formula
        Version of how its rows are chosen.
    columns
        Column -> ``type``, ``unit``, and ``nullable``, ``formula``, ``vocabulary`` where there is something to say.
    """

    key: tuple[str, ...]
    sort: tuple[str, ...]
    partition: tuple[str, ...]
    formula: int
    columns: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> Self:
        """Read what a manifest records of one table."""
        return cls(
            tuple(recorded["key"]),
            tuple(recorded["sort"]),
            tuple(recorded["partition"]),
            recorded["formula"],
            recorded["columns"],
        )

    def stored(self, present: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
        """Return the columns that a file holds, in the order they were published: partitions stand in its path."""
        return {
            name: self.columns[name]
            for name in present
            if name in self.columns and name not in self.partition
        }

    def same_rows(self, other: Declared) -> bool:
        """Whether the same seal gives the same rows in the same order by another declaration."""
        return (self.key, self.sort, self.partition, self.formula) == (
            other.key,
            other.sort,
            other.partition,
            other.formula,
        )

    def same_column(self, name: str, other: Declared) -> bool:
        """Whether a column has the same type and formula by another declaration, which may not have it at all."""
        mine, its = self.columns.get(name), other.columns.get(name)
        if mine is None or its is None:
            return False
        return (mine["type"], mine.get("formula", 1)) == (its["type"], its.get("formula", 1))


def declared_to(manifest: Manifest) -> dict[str, Declared]:
    """Return every table as it was declared to the builder of a snapshot."""
    recorded = manifest.declarations or _first_release()["declarations"]
    return {name: Declared.of(table) for name, table in recorded.items()}


def declared_today() -> dict[str, Declared]:
    """Return every table as it is declared by this release."""
    return {name: Declared.of(table) for name, table in declarations().items()}


def rules_known_to(manifest: Manifest) -> frozenset[str]:
    """Return the ids of the rules that the builder of a snapshot checked the seal by."""
    return frozenset(manifest.rules or _first_release()["rules"])


@cache
def _first_release() -> dict[str, Any]:
    """Release 0.1.0 recorded neither: what it declared is stored here."""
    found: dict[str, Any] = orjson.loads(_FIRST.read_bytes())
    return found
