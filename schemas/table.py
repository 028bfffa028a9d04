"""What a table and a column are. The tables themselves stand in :mod:`schemas.tables`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from schemas.units import Type, Unit


class Origin(StrEnum):
    """Who writes a column."""

    SEALED = "sealed"
    """The engine that wrote the seal."""
    DERIVED = "derived"
    """The pipeline."""
    EITHER = "either"
    """The engine; the pipeline where the engine did not."""


class Bound(StrEnum):
    """A rule on single values, checked when a seal is read."""

    ANY = "any"
    POSITIVE = "> 0"
    NOT_NEGATIVE = ">= 0"
    NOT_POSITIVE = "<= 0"
    NOT_ZERO = "not 0"
    TICKER = "1 to 64 characters without comma, whitespace, control or invisible character"
    BOOK = "1 to 64 letters, digits, '_', '.' or '-', the first a letter or digit"
    NAME = "1 to 256 characters without control character"
    NOTE = "at most 1,000 characters without control character"


PATTERNS: Final = {
    # White space as any of the languages that read the pattern knows it: none of them may take another's ticker.
    Bound.TICKER: r"[^,\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\uFEFF]{1,64}",
    # It stands in a path.
    Bound.BOOK: r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}",
    Bound.NAME: r"[^\x00-\x1f\x7f-\x9f]{1,256}",
    Bound.NOTE: r"[^\x00-\x1f\x7f-\x9f]{0,1000}",
}
"""Bound of a text -> the regular expression that all of it matches."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column, of a sealed table, of a published one, or of both.

    Attributes
    ----------
    name, type, unit, meaning
        What it is called, how it is stored, what it counts and what it says.
    nullable
        Whether a present column may hold nulls.
    optional
        Whether a seal may leave the column out; of a derived column, whether a snapshot may.
    origin
        Who writes it.
    needs
        Sealed columns a derived one is computed from; without them it is not published.
    raw
        Whether only keys with raw-book access see it.
    published
        Whether it is published at all.
    vocabulary
        The codes it may hold; empty when any text may stand there.
    bound
        The rule its values keep.
    formula
        Version of what a derived column is computed by: raised when the same seal gives other values.
    """

    name: str
    type: Type
    unit: Unit
    meaning: str
    nullable: bool = False
    optional: bool = False
    origin: Origin = Origin.SEALED
    needs: tuple[str, ...] = ()
    raw: bool = False
    published: bool = True
    vocabulary: tuple[str, ...] = ()
    bound: Bound = Bound.ANY
    formula: int = 1

    @property
    def sealed(self) -> bool:
        """Whether an engine may write it."""
        return self.origin is not Origin.DERIVED


@dataclass(frozen=True)
class Table:
    """One table: its columns once, for the seal and for the snapshot.

    Attributes
    ----------
    name
        Kind of the seal and folder of the snapshot.
    meaning
        What one row is.
    columns
        In the order they are published.
    key
        Columns that are unique together.
    sort
        Order of the rows in a published file; it is also the default order of the API.
    partition
        Columns that stand in the path (``column=value``) rather than in the file.
    sealed, published
        Whether engines write it; whether snapshots hold it.
    optional
        Whether a complete run may lack it.
    formula
        Version of how its rows are chosen: raised when the same seal gives other rows.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    sort: tuple[str, ...]
    partition: tuple[str, ...] = ()
    sealed: bool = True
    published: bool = True
    optional: bool = False
    formula: int = 1

    def __getitem__(self, name: str) -> Column:
        """Return the column of that name; KeyError when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __iter__(self) -> Iterator[Column]:
        """Iterate over the columns in published order."""
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        """Whether a column of that name is declared."""
        return any(column.name == name for column in self.columns)

    @cached_property
    def sealed_columns(self) -> tuple[Column, ...]:
        """What an engine may write."""
        return tuple(column for column in self.columns if column.sealed)

    @cached_property
    def published_columns(self) -> tuple[Column, ...]:
        """What a snapshot may hold, partition columns included."""
        return tuple(column for column in self.columns if column.published)

    @cached_property
    def stored_columns(self) -> tuple[Column, ...]:
        """What a published file may hold: everything but the partition columns, which stand in the path."""
        return tuple(column for column in self.published_columns if column.name not in self.partition)


def raw_twin(column: Column, meaning: str, *needs: str, **changes: object) -> Column:
    """Declare the unconditioned counterpart of a column: same type, unit and bound, raw access only."""
    return replace(
        column,
        name=f"raw_{column.name}",
        meaning=meaning,
        raw=True,
        needs=needs,
        **changes,  # type: ignore[arg-type]
    )
