"""Comparison of a JSON document with its declaration: wrong shapes, missing and undeclared keys."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from schemas.field import Field, FieldType

_EXACT: Final = 2**53
"""Largest integer that all JSON readers read exactly."""
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShapeProblem:
    """One part of a document that differs from its declaration.

    Attributes
    ----------
    key
        Dotted path, with list positions, such as ``source_papers[1].role``.
    value
        Value in the document.
    expected
        Description of the allowed values.
    """

    key: str
    value: Any
    expected: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Differences of a document from its declaration.

    Attributes
    ----------
    problems
        Values of the wrong shape and missing members of objects, in the order of the file.
    extra
        Dotted paths of keys that are not declared.
    """

    problems: tuple[ShapeProblem, ...]
    extra: tuple[str, ...]


def compare(declared: Field, document: Mapping[str, Any]) -> Shape:
    """Compare a document with the declaration of an object."""
    entries = list(_members(declared, document, ""))
    return Shape(
        tuple(entry for entry in entries if isinstance(entry, ShapeProblem)),
        tuple(entry for entry in entries if isinstance(entry, str)),
    )


def with_optional_keys(field: Field) -> Field:
    """Return a declaration whose members may all be omitted or null, at any depth.

    Entries of lists and values of maps may be null only if the declaration allows it.
    """
    members = tuple(replace(with_optional_keys(x), optional=True, nullable=True) for x in field.fields)
    items = None if field.items is None else with_optional_keys(field.items)
    return replace(field, fields=members, items=items)


_Shape = Iterator[ShapeProblem | str]


def _walk(field: Field, value: Any, path: str) -> _Shape:
    """Yield the problems below one value, and the paths of undeclared keys as text."""
    listed = not field.vocabulary or value in field.vocabulary
    if not (_TESTS[field.type](value) and listed and _bounded(field, value)):
        numeric = field.type in (FieldType.INTEGER, FieldType.NUMBER)
        limit = ", within 2**53 of 0" if numeric and type(value) is int and not _is_exact(value) else ""
        yield ShapeProblem(path, value, expectation(field) + limit)
    elif field.type in (FieldType.OBJECT, FieldType.MAP):
        yield from _members(field, value, path)
    elif field.type is FieldType.ARRAY and field.items is not None:
        for place, entry in enumerate(value):
            yield from _entry(field.items, entry, f"{path}[{place}]")


def _members(field: Field, value: Mapping[str, Any], path: str) -> _Shape:
    """Yield the same of an object, or of a map, which has no declared members."""
    declared = {member.name: member for member in field.fields}
    for name, entry in value.items():
        below = f"{path}.{name}" if path else name
        if name in declared:
            yield from _entry(declared[name], entry, below)
        elif field.pattern is not None and re.search(field.pattern, name, re.ASCII) is None:
            yield ShapeProblem(path, name, f"keys that match {field.pattern}")
        elif field.items is None:
            yield below
        elif field.type is FieldType.MAP or field.items.type is not FieldType.ANY:
            yield from _entry(field.items, entry, below)
    for name, member in declared.items():
        if name not in value and not member.optional:
            yield ShapeProblem(f"{path}.{name}" if path else name, "(absent)", expectation(member))


def _entry(field: Field, value: Any, path: str) -> _Shape:
    if value is not None:
        yield from _walk(field, value, path)
    elif not field.nullable:
        yield ShapeProblem(path, value, expectation(field))


def expectation(field: Field) -> str:
    """Describe the allowed values of a field."""
    if field.expected:
        return field.expected
    if field.vocabulary:
        return "one of " + ", ".join(str(word) for word in field.vocabulary)
    if field.type is FieldType.ARRAY and field.minimum is not None and field.minimum == field.maximum:
        return f"a list of {field.minimum:g}"
    if field.type is FieldType.INTEGER and field.minimum is not None:
        return f"an integer, at least {field.minimum:g}"
    if field.maximum is not None and field.type in (FieldType.ARRAY, FieldType.TEXT):
        of = "entries" if field.type is FieldType.ARRAY else "characters"
        return f"{_WORDS[field.type]} of at most {field.maximum:,.0f} {of}"
    return _WORDS[field.type]


def _bounded(field: Field, value: Any) -> bool:
    if field.pattern is not None and field.type is FieldType.TEXT:
        return re.fullmatch(field.pattern, value, re.ASCII) is not None
    if field.type in (FieldType.ARRAY, FieldType.TEXT, FieldType.OBJECT):
        value = len(value)
    elif field.type not in (FieldType.INTEGER, FieldType.NUMBER):
        return True
    low = field.minimum is None or value >= field.minimum
    low = low and (field.above is None or value > field.above)
    return low and (field.maximum is None or value <= field.maximum)


def short_value(value: Any) -> Any:
    """Return a JSON value for a report: numbers and the like unchanged, so that 1 and "1" stay distinct; all others as short text."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_day(value: Any) -> bool:
    if not isinstance(value, str) or _DAY.fullmatch(value) is None:
        return False
    try:
        dt.date.fromisoformat(value)
    except ValueError:  # an invalid day such as 30 February
        return False
    return True


def _is_exact(value: Any) -> bool:
    """Return whether every reader of JSON reads the same number."""
    return isinstance(value, float) or -_EXACT <= value <= _EXACT


def _is_plain(value: Any) -> bool:
    """Return whether every reader of JSON reads the same value, of any shape."""
    if isinstance(value, dict):
        return all(_is_plain(entry) for entry in value.values())
    if isinstance(value, list):
        return all(_is_plain(entry) for entry in value)
    return not isinstance(value, int) or _is_exact(value)


_TESTS: Final[Mapping[FieldType, Callable[[Any], bool]]] = {
    FieldType.OBJECT: lambda value: isinstance(value, dict),
    FieldType.ARRAY: lambda value: isinstance(value, list),
    FieldType.MAP: lambda value: isinstance(value, dict),
    FieldType.TEXT: lambda value: isinstance(value, str),
    FieldType.DATE: _is_day,
    FieldType.INTEGER: lambda value: type(value) is int and _is_exact(value),
    FieldType.NUMBER: lambda value: type(value) in {int, float} and _is_exact(value),
    FieldType.BOOLEAN: lambda value: isinstance(value, bool),
    FieldType.ANY: _is_plain,
}
_WORDS: Final[Mapping[FieldType, str]] = {
    FieldType.OBJECT: "an object",
    FieldType.ARRAY: "a list",
    FieldType.MAP: "an object",
    FieldType.TEXT: "a string",
    FieldType.DATE: "a real calendar day written YYYY-MM-DD",
    FieldType.INTEGER: "an integer",
    FieldType.NUMBER: "a number",
    FieldType.BOOLEAN: "true or false",
    FieldType.ANY: "any JSON whose integers lie within 2**53 of 0",
}
