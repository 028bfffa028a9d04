"""Mutations of every column: removed, renamed, duplicated, of every other type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from schemas.table import Column
from schemas.tables import SEALED_TABLES
from schemas.units import Type
from tests.mutated_seals.mutation import HONEST, SAME, Expected, Mutation, Mutations, refused, table_of

Retyped = Callable[[pa.ChunkedArray], pa.Array | pa.ChunkedArray]
MISTYPED = refused("table.columns")


def _cast(values: pa.ChunkedArray, to: pa.DataType) -> pa.ChunkedArray:
    return values.cast(to, safe=False)


def _texts(values: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in values.to_pylist()])


def _bytes(values: pa.ChunkedArray) -> pa.Array:
    return pa.array(
        [None if value is None else str(value).encode() for value in values.to_pylist()], pa.binary()
    )


def _lists(values: pa.ChunkedArray) -> pa.Array:
    return pa.array([[value] for value in values.to_pylist()], pa.list_(values.type))


def _structs(values: pa.ChunkedArray) -> pa.Array:
    return pa.array([{"value": value} for value in values.to_pylist()], pa.struct({"value": values.type}))


def _ones(values: pa.ChunkedArray, to: pa.DataType) -> pa.Array:
    return pa.array([1] * len(values)).cast(to)


def _codes(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.dictionary_encode()


def _to(type_: pa.DataType) -> Retyped:
    return partial(_cast, to=type_)


ANYWHERE: dict[str, tuple[Retyped, Expected]] = {
    "bytes": (_bytes, MISTYPED),
    "lists": (_lists, MISTYPED),
    "structs": (_structs, MISTYPED),
}
OTHERWISE: dict[Type, dict[str, tuple[Retyped, Expected]]] = {
    Type.F64: {
        "texts": (_texts, MISTYPED),
        "32-bit floats": (_to(pa.float32()), HONEST),
        "whole numbers": (_to(pa.int64()), HONEST),
        "small whole numbers": (partial(_ones, to=pa.int8()), HONEST),
        "whole numbers without sign": (partial(_ones, to=pa.uint64()), HONEST),
        "decimals": (partial(_ones, to=pa.decimal128(38, 0)), MISTYPED),
        "truth values": (partial(_ones, to=pa.bool_()), MISTYPED),
        "days": (lambda values: _ones(values, pa.int32()).cast(pa.date32()), MISTYPED),
        "codes": (_codes, HONEST),
    },
    Type.DATE: {
        "texts": (_texts, MISTYPED),
        "numbers": (_to(pa.int32()), MISTYPED),
        "midnights": (_to(pa.timestamp("us")), SAME),
        "midnights to the nanosecond": (_to(pa.timestamp("ns")), SAME),
        "midnights in UTC": (_to(pa.timestamp("us", "UTC")), SAME),
        "instants of a zone": (_to(pa.timestamp("us", "Asia/Tokyo")), MISTYPED),
        "instants of no zone there is": (_to(pa.timestamp("us", "Nowhere/At_All")), MISTYPED),
        "noons": (
            lambda values: pc.add(
                values.cast(pa.timestamp("us")), pa.scalar(43_200_000_000, pa.duration("us"))
            ),
            MISTYPED,
        ),
    },
    Type.TIMESTAMP: {
        "texts": (_texts, MISTYPED),
        "numbers": (_to(pa.int64()), MISTYPED),
        "instants without a zone": (_to(pa.timestamp("us")), MISTYPED),
        "instants to the millisecond": (_to(pa.timestamp("ms", "UTC")), SAME),
        "instants to the nanosecond": (_to(pa.timestamp("ns", "UTC")), SAME),
        "instants of a zone": (_to(pa.timestamp("us", "America/New_York")), SAME),
        "instants of no zone there is": (_to(pa.timestamp("us", "Nowhere/At_All")), MISTYPED),
        "days": (_to(pa.date32()), MISTYPED),
    },
    Type.STR: {
        "texts of 32-bit offsets": (_to(pa.string()), SAME),
        "texts of 64-bit offsets": (_to(pa.large_string()), SAME),
        "codes": (_codes, SAME),
        "numbers": (partial(_ones, to=pa.int64()), MISTYPED),
        "floats": (partial(_ones, to=pa.float64()), MISTYPED),
        "days": (lambda values: _ones(values, pa.int32()).cast(pa.date32()), MISTYPED),
    },
    Type.BOOL: {
        "texts": (_texts, MISTYPED),
        "numbers": (_to(pa.int8()), MISTYPED),
        "floats": (lambda values: values.cast(pa.int8()).cast(pa.float64()), MISTYPED),
    },
}


def mutations() -> Mutations:
    for kind, table in SEALED_TABLES.items():
        for column in table.sealed_columns:
            yield from _of(kind, column)


def _of(kind: str, column: Column) -> Mutations:
    name = column.name
    absent = HONEST if column.optional else refused("table.columns", shows=name)
    yield Mutation(f"{kind}.{name} left out", table_of(kind, lambda rows: rows.drop_columns(name)), absent)
    yield Mutation(
        f"{kind}.{name} renamed",
        table_of(kind, lambda rows: rows.rename_columns({name: f"{name}_"})),
        absent,
    )
    yield Mutation(
        f"{kind}.{name} twice",
        table_of(kind, lambda rows: rows.append_column(name, rows[name])),
        refused("table.columns"),
    )
    yield Mutation(
        f"{kind}.{name} as the first",
        table_of(
            kind, lambda rows: rows.select([name, *(other for other in rows.column_names if other != name)])
        ),
        SAME,
    )
    untyped = HONEST if column.nullable else refused("table.null", shows=name)
    for what, (retyped, expected) in {
        **ANYWHERE,
        **OTHERWISE[column.type],
        "nothing": (lambda values: pa.nulls(len(values)), untyped),
    }.items():
        # DuckDB refuses the complete file for an unknown time zone.
        named = name if expected.rules and what != "instants of no zone there is" else ""
        shown = Expected(expected.fate, expected.rules, named)
        yield Mutation(
            f"{kind}.{name} as {what}", table_of(kind, partial(_retype, name=name, to=retyped)), shown
        )


def _retype(rows: pa.Table, name: str, to: Retyped) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, to(rows[name]))
