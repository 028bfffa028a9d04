"""The JSON kinds of a seal (the run's figures and the description), and the rule on the figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from pipeline.rule import Finding, Level, examples_wanted, limited, rule
from pipeline.seal.casting import POLARS_TYPES
from pipeline.seal.shape import short_value
from pipeline.seal.strict_json import NotJson, parse_json
from pipeline.seal.tables import empty_table
from schemas.kinds import MAX_DEPTH, MAX_KEYS
from schemas.plurals import counted
from schemas.tables import TABLES
from schemas.units import Type

METRICS: Final = TABLES["sealed_metrics"]
"""The fields of a record, which is sealed as JSON and published as a table."""

_SEALED: Final = frozenset(column.name for column in METRICS.sealed_columns)
_EXACT: Final = 2**53
_JSON_TYPES: Final[Mapping[Type, tuple[frozenset[type], str]]] = {
    Type.STR: (frozenset({str}), "a string"),
    Type.BOOL: (frozenset({bool}), "true or false"),
    Type.F64: (frozenset({float, int}), "a number"),
}
_FIELDS: Final = tuple(
    (column.name, column.nullable, *_JSON_TYPES[column.type]) for column in METRICS.sealed_columns
)
_PERIODS: Final[Mapping[str, re.Pattern[str]]] = {
    "yearly": re.compile(r"\d{4}", re.ASCII),
    "monthly": re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII),
}


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """One invalid field of a record; `index` counts from 0, -1 is the file."""

    index: int
    field: str
    value: Any
    expected: str


@dataclass(frozen=True, slots=True)
class SealedRecords:
    """The decoded ``metrics.json``.

    Attributes
    ----------
    frame
        The records whose fields have their types, in the file's order, as the declared columns. Values may
        still be outside their vocabulary or not finite; other rules report those rows.
    problems
        Fields that are missing or of another JSON type, and periods that do not fit their scope.
    extra
        Fields that are not declared, and therefore dropped.
    """

    frame: pl.DataFrame
    problems: tuple[RecordProblem, ...]
    extra: tuple[str, ...]


def decode_metrics(raw: bytes) -> SealedRecords:
    """Decode a ``metrics.json``; never raises: `problems` holds the faults."""
    try:
        document = parse_json(raw, "metrics", constants=True)
    except NotJson as error:
        return _unreadable(str(error))
    records = document.get("records") if isinstance(document, dict) else None
    if not isinstance(records, list):
        return _unreadable("it is not an object with a list under `records`")
    problems: list[RecordProblem] = []
    extra: dict[str, None] = {}
    sound: list[dict[str, Any]] = []
    for index, record in enumerate(records):
        faults = _field_problems(index, record)
        if not faults:
            sound.append(record)
            faults = _period_problems(index, record["scope"], record["period"])
        problems.extend(faults)
        if isinstance(record, dict):
            extra.update(dict.fromkeys(name for name in record if name not in _SEALED))
    columns = [
        pl.Series(
            column.name, [record[column.name] for record in sound], POLARS_TYPES[column.type], strict=False
        )
        for column in METRICS.sealed_columns
    ]
    return SealedRecords(pl.DataFrame(columns), tuple(problems), tuple(extra))


def decode_description(raw: bytes) -> dict[str, Any]:
    """Decode a ``description.json``.

    Raises
    ------
    NotJson
        When it is not a JSON object.
    """
    document = parse_json(raw, "description")
    if not isinstance(document, dict):
        raise NotJson("it is JSON but not an object")
    return document


def _unreadable(reason: str) -> SealedRecords:
    return SealedRecords(
        empty_table(METRICS), (RecordProblem(-1, "(file)", reason, 'a JSON object {"records": [...]}'),), ()
    )


def _field_problems(index: int, record: Any) -> list[RecordProblem]:
    if not isinstance(record, dict):
        return [RecordProblem(index, "(record)", record, "an object")]
    problems = []
    for name, nullable, types, expected in _FIELDS:
        value = record.get(name, "(absent)")
        exact = type(value) is not int or -_EXACT <= value <= _EXACT
        if name not in record or not (nullable if value is None else type(value) in types and exact):
            problems.append(RecordProblem(index, name, value, expected))
    return problems


def _period_problems(index: int, scope: str, period: str | None) -> list[RecordProblem]:
    if scope == "overall":
        expected = "null for scope overall"
        return [] if period is None else [RecordProblem(index, "period", period, expected)]
    pattern = _PERIODS.get(scope)
    if pattern is None or (period is not None and pattern.fullmatch(period)):
        return []  # table.vocabulary reports an unknown scope
    shape = "a year such as 2020" if scope == "yearly" else "a month such as 2020-03"
    return [RecordProblem(index, "period", period, f"{shape} for scope {scope}")]


@rule(
    "metrics.record",
    "Each record of metrics.json has its fields with their types, its period fits its scope, "
    f"and (name, scope, period) is unique; the document has at most {MAX_KEYS['metrics']:,} keys and {MAX_DEPTH} levels.",
    "Seal every figure once, with all seven fields; overall figures have period null, others a year or a month.",
    level=Level.FILE,
    needs={"metrics": ()},
)
def metrics_record(records: SealedRecords) -> Finding | None:
    """Report records with an invalid field, and records with the same name, scope and period."""
    examples = [
        {
            "record": problem.index,
            "field": problem.field,
            "found": short_value(problem.value),
            "expected": problem.expected,
        }
        for problem in records.problems
    ]
    key = list(METRICS.key)
    twice = records.frame.filter(pl.struct(key).is_duplicated()) if records.frame.height else records.frame
    examples += [
        {"found": "more than once"} | row
        for row in twice.head(examples_wanted(twice.height)).select(key).to_dicts()
    ]
    if not examples:
        return None
    rows = len({problem.index for problem in records.problems}) + twice.height
    reasons = []
    if records.problems:
        first = records.problems[0]
        reasons.append(f"{first.field} must be {first.expected}")
    if twice.height:
        reasons.append(f"{counted(twice.height, 'record')} with the name, scope and period of another")
    return Finding("metrics", rows, limited(examples), "; ".join(reasons))
