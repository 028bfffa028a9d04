"""A field of the metrics payload: a field with the traits that the documentation block shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from schemas.field import Field, FieldType
from schemas.units import Unit


@dataclass(frozen=True, slots=True)
class MetricField(Field):
    """One member of the metrics payload.

    A trait left empty is that of the object the field stands in, so it is stated once a block.

    Attributes
    ----------
    formula
        How it is computed.
    horizon
        Span of time that one observation covers.
    granularity
        What there is one value of.
    source
        Where it comes from.
    signal
        `conditioned` or `raw`, on the IC family only.
    availability
        When a block is there at all.
    """

    formula: str = ""
    horizon: str = ""
    granularity: str = ""
    source: str = ""
    signal: str = ""
    availability: str = ""


_INHERITED = ("formula", "horizon", "granularity", "source", "signal")


def documented(root: Field) -> Iterator[tuple[str, MetricField]]:
    """Yield every member below an object with its dotted path, traits inherited, parents before members.

    The members of a list's entries have ``[]`` after the list's key; a member declared without traits (one taken
    over from elsewhere) is left out with everything below it.
    """
    yield from _below(root, root, "")


def _below(parent: Field, holder: Field, prefix: str) -> Iterator[tuple[str, MetricField]]:
    """Walk the members of `holder`, which is the parent itself or the entry of a list."""
    for member in holder.fields:
        if not isinstance(member, MetricField):
            continue
        traits: dict[str, Any] = {
            trait: getattr(member, trait) or getattr(parent, trait, "") for trait in _INHERITED
        }
        resolved = replace(member, **traits)
        path = prefix + member.name
        yield path, resolved
        if member.items is not None:
            yield from _below(resolved, member.items, f"{path}[].")
        else:
            yield from _below(resolved, member, f"{path}.")


def block(name: str, meaning: str, *members: MetricField, **traits: Any) -> MetricField:
    """Declare an object."""
    return MetricField(name, FieldType.OBJECT, meaning, fields=members, **traits)


def series(name: str, meaning: str, *members: MetricField, **traits: Any) -> MetricField:
    """Declare an array of objects with these members."""
    entry = MetricField("", FieldType.OBJECT, "One entry.", fields=members)
    return MetricField(name, FieldType.ARRAY, meaning, items=entry, **traits)


def text(name: str, meaning: str, *vocabulary: str, **traits: Any) -> MetricField:
    """Declare a text, with the only values it takes where they are known."""
    return MetricField(name, FieldType.TEXT, meaning, vocabulary=vocabulary, **traits)


def flag(name: str, meaning: str, **traits: Any) -> MetricField:
    """Declare a boolean."""
    return MetricField(name, FieldType.BOOLEAN, meaning, **traits)


def day(name: str, meaning: str, **traits: Any) -> MetricField:
    """Declare a calendar day."""
    return MetricField(name, FieldType.DATE, meaning, Unit.DATE, **traits)


def number(name: str, unit: Unit, meaning: str, formula: str = "", **traits: Any) -> MetricField:
    """Declare a real number."""
    return MetricField(name, FieldType.NUMBER, meaning, unit, formula=formula, **traits)


def count(name: str, meaning: str, **traits: Any) -> MetricField:
    """Declare a number of things, at least 0."""
    return MetricField(name, FieldType.INTEGER, meaning, Unit.COUNT, **{"minimum": 0, **traits})
