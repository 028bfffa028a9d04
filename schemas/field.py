"""The parts of an answer that are not table rows, declared as a tree: name, type, meaning, unit, rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from schemas.units import Unit


class FieldType(StrEnum):
    """What stands in the JSON."""

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
    """One member of a JSON object, with everything below it.

    Attributes
    ----------
    name
        Its key; empty for the entries of arrays and maps, and for the alternatives of a union.
    type
        What stands there.
    meaning
        What it says, for the documents.
    unit
        What a number counts.
    nullable
        Whether null may stand there: measured, but undeterminable, or not there to be said.
    optional
        Whether the key may be left out.
    fields
        Members of an object.
    items
        Entry of an array, value of a map, or member of an object that `fields` does not name; None on a map or array of
        anything, and on an object without other members.
    variants
        Alternatives of a union; exactly one holds.
    vocabulary
        The values it may take, texts or integers; empty when any may stand there.
    minimum, maximum
        Inclusive bounds of a number, of the number of entries or members, or of the length of a text.
    above
        Exclusive lower bound of a number.
    pattern
        Regular expression a text keeps, or every key of a map.
    raw
        Whether only keys with raw-book access see it.
    deprecated
        Whether another field says the same and is to be used instead.
    model
        Name under which documents define the object once; empty to define it in place.
    unit_text
        The unit in words, where the vocabulary of columns does not have it.
    expected
        What may stand there, in words for a message; empty where type and rules say it.
    """

    name: str
    type: FieldType
    meaning: str
    unit: Unit = Unit.NONE
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
    unit_text: str = ""
    expected: str = ""

    @property
    def counts(self) -> str:
        """What a number counts, in words; empty where there is no count."""
        return self.unit_text or ("" if self.unit is Unit.NONE else self.unit.value)

    def __getitem__(self, name: str) -> Field:
        """Return the member of that name; KeyError when there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    def called(self, name: str, meaning: str = "", **changes: Any) -> Self:
        """Return the same declaration under another name, with another meaning where one is given."""
        return replace(self, name=name, meaning=meaning or self.meaning, **changes)

    def walk(self, path: str = "") -> Iterator[tuple[str, Field]]:
        """Yield this declaration and everything below it with its dotted path, in declared order.

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


def integer(name: str, unit: Unit, meaning: str, **rules: Any) -> Field:
    """Declare an integer; at least 0 unless a minimum is given."""
    return Field(name, FieldType.INTEGER, meaning, unit, **{"minimum": 0, **rules})


def number(name: str, unit: Unit, meaning: str, **rules: Any) -> Field:
    """Declare a double."""
    return Field(name, FieldType.NUMBER, meaning, unit, **rules)


def fraction(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a ratio from 0 to 1."""
    return number(name, Unit.RATIO, meaning, minimum=0, maximum=1, **rules)


def record(name: str, meaning: str, *fields: Field, **rules: Any) -> Field:
    """Declare an object with the members given, in the order they are served."""
    return Field(name, FieldType.OBJECT, meaning, fields=fields, **rules)


def array(name: str, meaning: str, items: Field | None, **rules: Any) -> Field:
    """Declare an array whose entries are all like `items`."""
    return Field(name, FieldType.ARRAY, meaning, items=items, **rules)


def texts(name: str, meaning: str, **rules: Any) -> Field:
    """Declare an array of strings."""
    return array(name, meaning, text("", "One entry."), **rules)


def mapping(name: str, meaning: str, values: Field, **rules: Any) -> Field:
    """Declare an object whose keys are data and whose values are all like `values`."""
    return Field(name, FieldType.MAP, meaning, items=values, **rules)


def withheld(meaning: str) -> Field:
    """Declare the object that says why members are null."""
    return mapping("withheld", meaning, text("", "The reason."))


def union(name: str, meaning: str, *variants: Field, **rules: Any) -> Field:
    """Declare a value that is exactly one of several alternatives."""
    return Field(name, FieldType.UNION, meaning, variants=variants, **rules)


def anything(name: str, meaning: str, **rules: Any) -> Field:
    """Declare a value of any JSON type, shown as it was sealed."""
    return Field(name, FieldType.ANY, meaning, **rules)
