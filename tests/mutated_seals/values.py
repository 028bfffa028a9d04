"""Mutations of values: one or all values of every column replaced by invalid ones."""

from __future__ import annotations

import re
import unicodedata
from functools import partial
from typing import Any

import pyarrow as pa

from schemas.table import PATTERNS, Bound, Column
from schemas.tables import SEALED_TABLES
from schemas.units import Type
from tests.mutated_seals.mutation import HONEST, Expected, Mutation, Mutations, refused, table_of

TEXTS = {
    "nothing at all": "",
    "a blank": " ",
    "a letter and its accent": unicodedata.normalize("NFD", "É"),
    "no width": "A\u200bB",
    "a change of direction": "A\u202eB",
    "a line break": "A\nB",
    "NUL": "A\x00B",
    "an escape": "\x1b[2J",
    "a face": "\U0001f600" * 3,
    "a megabyte": "A" * 2**20,
    "a path upwards": "../../etc/passwd",
    "a path from the root": "/etc/passwd",
    "a path of another system": "..\\..\\windows",
    "a device": "con",
    "a comma": "A,B",
    "a formula": "=1+1",
}
FLOATS = {
    "NaN": (float("nan"), ("table.finite",)),
    "infinity": (float("inf"), ("table.finite",)),
    "less than anything": (float("-inf"), ("table.finite",)),
    "1e308": (1e308, ()),
    "-1e308": (-1e308, ()),
    "the least there is": (5e-324, ()),
    "negative zero": (-0.0, ()),
}
LAST_32, LAST_64 = 2**31 - 1, 2**63 - 1
HALF_A_PAIR = b"\xed\xa0\x80"


def mutations() -> Mutations:
    for kind, table in SEALED_TABLES.items():
        for column in table.sealed_columns:
            nulls = HONEST if column.nullable else refused("table.null", shows=column.name)
            yield _put(kind, column, "null", None, nulls)
            yield _put(kind, column, "null everywhere", None, nulls, everywhere=True)
            yield from _of_type(kind, column)


def _of_type(kind: str, column: Column) -> Mutations:
    match column.type:
        case Type.F64:
            for what, (value, rules) in FLOATS.items():
                expected = refused(*rules, shows=column.name) if rules else HONEST
                yield _put(kind, column, what, value, expected)
            yield _put(kind, column, "1e308 everywhere", 1e308, HONEST, everywhere=True)
            yield _put(kind, column, "0 everywhere", 0.0, HONEST, everywhere=True)
        case Type.STR:
            for what, text in TEXTS.items():
                yield _put(kind, column, what, text, _of_text(column, text))
            yield Mutation(
                f"{kind}.{column.name}: half of a pair",
                table_of(kind, partial(_half_a_pair, name=column.name)),
                HONEST,
            )
        case Type.DATE:
            for what, days in {"year 1": -719_162, "year 9999": 2_932_896}.items():
                yield _put(kind, column, what, pa.scalar(days, pa.int32()).cast(pa.date32()), HONEST)
            for what, days in {"the first day": -LAST_32 - 1, "the last day": LAST_32}.items():
                value = pa.scalar(days, pa.int32()).cast(pa.date32())
                yield _put(kind, column, what, value, refused("table.columns", shows=column.name))
        case Type.TIMESTAMP:
            for what, instant in {"the first instant": -LAST_64 - 1, "the last instant": LAST_64}.items():
                value = pa.scalar(instant).cast(pa.timestamp("us", "UTC"))
                yield _put(kind, column, what, value, refused("table.columns", shows=column.name))
            yield _put(kind, column, "1970", pa.scalar(0).cast(pa.timestamp("us", "UTC")), HONEST)
        case _:
            yield _put(kind, column, "false everywhere", False, HONEST, everywhere=True)
            yield _put(kind, column, "true everywhere", True, HONEST, everywhere=True)


def _of_text(column: Column, text: str) -> Expected:
    if column.vocabulary:
        return refused("table.vocabulary", shows=column.name)
    if column.bound is not Bound.ANY and not re.fullmatch(PATTERNS[column.bound], text):
        return refused("table.bound", shows=column.name)
    return HONEST


def _put(
    kind: str, column: Column, what: str, value: Any, expected: Expected, *, everywhere: bool = False
) -> Mutation:
    change = partial(_with, name=column.name, value=value, everywhere=everywhere)
    return Mutation(f"{kind}.{column.name}: {what}", table_of(kind, change), expected)


def _with(rows: pa.Table, name: str, value: Any, everywhere: bool) -> pa.Table:
    place = rows.column_names.index(name)
    values = rows[name].combine_chunks()
    scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, values.type)
    size = len(values) if everywhere else 1
    new = pa.concat_arrays([pa.repeat(scalar.cast(values.type), size), values[size:]])
    return rows.set_column(place, pa.field(name, values.type), new)


def _half_a_pair(rows: pa.Table, name: str) -> pa.Table:
    values = rows[name].cast(pa.string()).combine_chunks()
    raw = pa.concat_arrays([pa.array([HALF_A_PAIR]), values[1:].cast(pa.binary())])
    forged = pa.StringArray.from_buffers(len(raw), raw.buffers()[1], raw.buffers()[2], raw.buffers()[0])
    return rows.set_column(rows.column_names.index(name), name, forged)
