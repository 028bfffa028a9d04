"""The run's own figures in a seal, and the rule on their records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from pipeline.rule import Finding, file_rule, limited
from pipeline.seal.casting import POLARS_TYPES
from pipeline.seal.shape import ShapeProblem, compare, short_value
from pipeline.seal.strict_json import NotJson, parse_json
from pipeline.seal.tables import empty_table
from schemas.field import Field, FieldType
from schemas.kinds import MAX_DEPTH, MAX_KEYS
from schemas.plurals import counted
from schemas.tables import TABLES
from schemas.units import Type

METRICS: Final = TABLES["sealed_metrics"]
"""The fields of a record, which is sealed as JSON and published as a table."""

_JSON_TYPES: Final = {Type.STR: FieldType.TEXT, Type.BOOL: FieldType.BOOLEAN, Type.F64: FieldType.NUMBER}
_RECORD: Final = Field(
    "",
    FieldType.OBJECT,
    "One sealed figure.",
    fields=tuple(
        Field(x.name, _JSON_TYPES[x.type], x.meaning, nullable=x.nullable) for x in METRICS.sealed_columns
    ),
)
_NAMES: Final = [field.name for field in _RECORD.fields]
_PERIODS: Final[Mapping[str, re.Pattern[str]]] = {
    "yearly": re.compile(r"[1-9]\d{3}", re.ASCII),
    "monthly": re.compile(r"[1-9]\d{3}-(0[1-9]|1[0-2])", re.ASCII),
}


@dataclass(frozen=True, slots=True)
class SealedRecords:
    """The decoded ``metrics.json``.

    Attributes
    ----------
    frame
        The records whose fields have their types, in the file's order, as the declared columns. Values may
        still be outside their vocabulary or not finite; other rules report those rows.
    problems
        Number of a record, counted from 0 (-1 for the file), and its field that is missing or of another JSON type, or
        whose period does not fit the scope.
    extra
        Fields that are not declared, and therefore dropped.
    """

    frame: pl.DataFrame
    problems: tuple[tuple[int, ShapeProblem], ...]
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
    problems: list[tuple[int, ShapeProblem]] = []
    extra: dict[str, None] = {}
    sound: list[dict[str, Any]] = []
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            problems.append((index, ShapeProblem("(record)", record, "an object")))
            continue
        shape = compare(_RECORD, record)
        extra.update(dict.fromkeys(shape.extra))
        faults = sorted(shape.problems, key=lambda problem: _NAMES.index(problem.key))
        if not faults:
            sound.append(record)
            faults = _period_problems(record["scope"], record["period"])
        problems += ((index, fault) for fault in faults)
    columns = [
        pl.Series(
            column.name, [record[column.name] for record in sound], POLARS_TYPES[column.type], strict=False
        )
        for column in METRICS.sealed_columns
    ]
    return SealedRecords(pl.DataFrame(columns), tuple(problems), tuple(extra))


def _unreadable(reason: str) -> SealedRecords:
    problem = ShapeProblem("(file)", reason, 'a JSON object {"records": [...]}')
    return SealedRecords(empty_table(METRICS), ((-1, problem),), ())


def _period_problems(scope: str, period: str | None) -> list[ShapeProblem]:
    if scope == "overall":
        return [] if period is None else [ShapeProblem("period", period, "null for scope overall")]
    pattern = _PERIODS.get(scope)
    if pattern is None or (period is not None and pattern.fullmatch(period)):
        return []  # table.vocabulary reports an unknown scope
    shape = "a year such as 2020" if scope == "yearly" else "a month such as 2020-03"
    return [ShapeProblem("period", period, f"{shape} for scope {scope}")]


@file_rule(
    "metrics.record",
    "Each record of metrics.json has its fields with their types, its period fits its scope, "
    f"and (name, scope, period) is unique; the document has at most {MAX_KEYS['metrics']:,} keys and {MAX_DEPTH} levels.",
    "Seal every figure once, with all seven fields; overall figures have period null, others a year or a month.",
    needs={"metrics": ()},
)
def metrics_record(records: SealedRecords) -> Finding | None:
    """Report records with an invalid field, and records with the same name, scope and period."""
    examples = [
        {"record": index, "field": x.key, "found": short_value(x.value), "expected": x.expected}
        for index, x in records.problems
    ]
    key = list(METRICS.key)
    twice = records.frame.filter(pl.struct(key).is_duplicated()) if records.frame.height else records.frame
    examples += [{"found": "more than once"} | row for row in limited(twice).select(key).to_dicts()]
    if not examples:
        return None
    rows = len({index for index, _ in records.problems}) + twice.height
    reasons = []
    if records.problems:
        _, first = records.problems[0]
        reasons.append(f"{first.key} must be {first.expected}")
    if twice.height:
        reasons.append(f"{counted(twice.height, 'record')} with the name, scope and period of another")
    return Finding("metrics", rows, limited(examples), "; ".join(reasons))
