"""Declarations of tables and columns; the tables are in :mod:`schemas.tables`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from schemas.units import Type, Unit


class Origin(StrEnum):
    """Who writes a column."""

    SEALED = "sealed"
    """The engine that wrote the seal."""
    DERIVED = "derived"
    """The pipeline."""
    EITHER = "either"
    """The engine, or else the pipeline."""


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
    # White space by the definition of every language that reads the pattern, so that all accept the same tickers.
    Bound.TICKER: r"[^,\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\uFEFF]{1,64}",
    # A book's name is part of a path.
    Bound.BOOK: r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}",
    Bound.NAME: r"[^\x00-\x1f\x7f-\x9f]{1,256}",
    Bound.NOTE: r"[^\x00-\x1f\x7f-\x9f]{0,1000}",
}
"""Bound of a text -> regular expression that the complete text matches."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a sealed table, a published table, or both.

    Attributes
    ----------
    name, type, unit, meaning
        Its name, storage type, unit and meaning.
    nullable
        Whether it may contain nulls.
    optional
        Whether a seal may omit it; for a derived column, whether a snapshot may.
    origin
        Who writes it.
    needs
        Sealed columns that a derived one is computed from; without them it is not published.
    raw
        Whether only keys with raw-book access see it.
    published
        Whether it is published.
    vocabulary
        Allowed values; empty if any value is allowed.
    bound
        Rule for its values.
    formula
        Version of a derived column's computation: bump when the same seal would yield different values.
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
    """One table, in the seal and in the snapshot.

    Attributes
    ----------
    name
        Its kind in a seal and its folder in a snapshot.
    meaning
        Meaning of one row.
    columns
        In published order.
    key
        Columns that are unique together.
    sort
        Order of rows in published files, and default order of the API; the key unless stated otherwise.
    partition
        Columns that are in the path (``column=value``), not in the file.
    sealed, published
        Whether engines write it; whether snapshots contain it.
    optional
        Whether a complete run may lack it.
    formula
        Version of the selection of its rows: bump when the same seal would yield different rows.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    sort: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    sealed: bool = True
    published: bool = True
    optional: bool = False
    formula: int = 1

    def __post_init__(self) -> None:
        """Sort by the key unless another order is declared."""
        object.__setattr__(self, "sort", self.sort or self.key)

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
        """Columns that an engine may write."""
        return tuple(column for column in self.columns if column.sealed)

    @cached_property
    def published_columns(self) -> tuple[Column, ...]:
        """Columns of a snapshot, partition columns included."""
        return tuple(column for column in self.columns if column.published)

    @cached_property
    def stored_columns(self) -> tuple[Column, ...]:
        """Columns of a published file, without the partition columns, which are in its path."""
        return tuple(column for column in self.published_columns if column.name not in self.partition)


def text(name: str, meaning: str, **rules: Any) -> Column:
    """Declare a column of texts."""
    return Column(name, Type.STR, Unit.NONE, meaning, **rules)


def flag(name: str, meaning: str, **rules: Any) -> Column:
    """Declare a column of booleans."""
    return Column(name, Type.BOOL, Unit.NONE, meaning, **rules)


def day(name: str, meaning: str, **rules: Any) -> Column:
    """Declare a column of calendar days."""
    return Column(name, Type.DATE, Unit.DATE, meaning, **rules)


def instant(name: str, meaning: str, **rules: Any) -> Column:
    """Declare a column of moments in UTC."""
    return Column(name, Type.TIMESTAMP, Unit.INSTANT, meaning, **rules)


def count(name: str, meaning: str, **rules: Any) -> Column:
    """Declare a column of numbers of rows, names, sessions or weeks."""
    return Column(name, Type.I64, Unit.COUNT, meaning, **rules)


def number(name: str, unit: Unit, meaning: str, **rules: Any) -> Column:
    """Declare a column of doubles."""
    return Column(name, Type.F64, unit, meaning, **rules)


def derived(*needs: str) -> dict[str, Any]:
    """Return the rules of a column that the pipeline computes from the sealed columns `needs`."""
    return {"origin": Origin.DERIVED, "needs": needs}


def raw_twin(column: Column, meaning: str, *needs: str, **changes: Any) -> Column:
    """Declare the unconditioned counterpart of a column: same type, unit and bound, raw access only."""
    return replace(column, name=f"raw_{column.name}", meaning=meaning, raw=True, needs=needs, **changes)
