"""Declarations of JSON payloads, as trees of fields: name, type, meaning, unit, rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from schemas.units import Unit


class FieldType(StrEnum):
    """JSON type of a value."""

    OBJECT = "object"
    ARRAY = "array"
    MAP = "map"
    UNION = "one of"
    TEXT = "string"
    DATE = "date"
    INSTANT = "timestamp"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ANY = "any"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a JSON object, with its own members.

    Attributes
    ----------
    name
        Its key; empty for entries of arrays and maps, and for alternatives of a union.
    type
        JSON type of its value.
    meaning
        One or two sentences for the documents.
    unit
        What a number counts: a `Unit`, or other words.
    nullable
        Whether it may be null: recorded, but not determined.
    optional
        Whether the key may be absent.
    fields
        Members of an object.
    items
        Entry of an array, value of a map, or value of the object's members that `fields` does not name; None for an array or
        map of any values, and for an object without further members.
    variants
        Alternatives of a union; exactly one applies.
    vocabulary
        Allowed values, texts or integers; empty when any value is allowed.
    minimum, maximum
        Inclusive bounds of a number, of the number of entries or members, or of the length of a text.
    above
        Exclusive lower bound of a number.
    pattern
        Regular expression that a text, or every key of a map, matches.
    raw
        Whether only keys with raw-book access see it.
    deprecated
        Whether another field supersedes it.
    model
        Name of the shared definition of the object in the documents; empty to define it in place.
    expected
        Its rule in words, for error messages; empty where type and bounds say it.
    formula, horizon, granularity, source, signal
        Only of a metric, for the documentation block: its computation, the span of time that one observation covers, the unit
        of observation, the source of the data, and `conditioned` or `raw` for the IC family. Members without these inherit
        them.
    availability
        When the field is present; not inherited.
    """

    name: str
    type: FieldType
    meaning: str
    unit: str = Unit.NONE
    nullable: bool = False
    optional: bool = False
    fields: tuple[Field, ...] = ()
    items: Field | None = None
    variants: tuple[Field, ...] = ()
    vocabulary: tuple[str | int, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    pattern: str | None = None
    raw: bool = False
    deprecated: bool = False
    model: str = ""
    expected: str = ""
    formula: str = ""
    horizon: str = ""
    granularity: str = ""
    source: str = ""
    signal: str = ""
    availability: str = ""

    @property
    def unit_text(self) -> str:
        """The unit in words; empty without one."""
        return "" if self.unit == Unit.NONE else str(self.unit)

    def __getitem__(self, name: str) -> Field:
        """Return the member of that name; KeyError when there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    def walk(self, path: str = "") -> Iterator[tuple[str, Field]]:
        """Yield this declaration and its descendants with their dotted paths, in declared order.

        Entries of an array add ``[]`` to the path, values of a map ``{}``; alternatives of a union leave it unchanged.
        """
        yield path, self
        for field in self.fields:
            yield from field.walk(f"{path}.{field.name}" if path else field.name)
        if self.items is not None:
            yield from self.items.walk(f"{path}{'{}' if self.type is FieldType.MAP else '[]'}")
        for variant in self.variants:
            yield from variant.walk(path)


def text(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a string."""
    return Field(name, FieldType.TEXT, meaning, **rules)


def day(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a calendar day, ``YYYY-MM-DD``."""
    return Field(name, FieldType.DATE, meaning, Unit.DATE, **rules)


def instant(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a moment in UTC, ``2020-01-03T14:30:00Z``."""
    return Field(name, FieldType.INSTANT, meaning, Unit.INSTANT, **rules)


def flag(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a boolean."""
    return Field(name, FieldType.BOOLEAN, meaning, **rules)


def integer(name: str, unit: str, meaning: str, **rules: Any) -> Field:
    """Declare an integer; at least 0 unless a minimum is given."""
    return Field(name, FieldType.INTEGER, meaning, unit, **{"minimum": 0, **rules})


def count(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a number of rows, names, sessions or weeks."""
    return integer(name, Unit.COUNT, meaning, **rules)


def number(name: str, unit: str, meaning: str, formula: str = "", **rules: Any) -> Field:
    """Declare a double."""
    return Field(name, FieldType.NUMBER, meaning, unit, formula=formula, **rules)


def figure(
    name: str, meaning: str, formula: str = "", source: str = "", *, unit: str = Unit.RATIO, **rules: Any
) -> Field:
    """Declare a double that is null if undetermined; `source` is where its formula or its data come from."""
    return number(name, unit, meaning, formula, source=source, nullable=True, **rules)


def fraction(name: str, meaning: str, formula: str = "", **rules: Any) -> Field:
    """Declare a ratio from 0 to 1."""
    return number(name, Unit.RATIO, meaning, formula, minimum=0, maximum=1, **rules)


def record(name: str, meaning: str, *fields: Field, **rules: Any) -> Field:
    """Declare an object with the members given, in the order they are served."""
    return Field(name, FieldType.OBJECT, meaning, fields=fields, **rules)


def array(name: str, meaning: str, items: Field | None, **rules: Any) -> Field:
    """Declare an array whose entries are all like `items`."""
    return Field(name, FieldType.ARRAY, meaning, items=items, **rules)


def texts(name: str, meaning: str, **rules: Any) -> Field:
    """Declare an array of strings."""
    return array(name, meaning, text("", "One entry."), **rules)


def series(
    name: str, meaning: str, *members: Field, one: str = "One entry.", model: str = "", **rules: Any
) -> Field:
    """Declare an array of objects with the members given; `one` and `model` are meaning and model of an object."""
    return array(name, meaning, record("", one, *members, model=model), **rules)


def mapping(name: str, meaning: str, values: Field, **rules: Any) -> Field:
    """Declare an object whose keys are data and whose values are all like `values`."""
    return Field(name, FieldType.MAP, meaning, items=values, **rules)


def withheld(meaning: str) -> Field:
    """Declare the object that gives the reason of each null member."""
    return mapping("withheld", meaning, text("", "The reason."))


def union(name: str, meaning: str, *variants: Field, **rules: Any) -> Field:
    """Declare a value that is exactly one of several alternatives."""
    return Field(name, FieldType.UNION, meaning, variants=variants, **rules)


def anything(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a value of any JSON type, served as sealed."""
    return Field(name, FieldType.ANY, meaning, **rules)
