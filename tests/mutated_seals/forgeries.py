"""Mutations of Parquet: false claims, and files that unpack to far more than their size."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import SEALED_TABLES
from tests.mutated_seals.mutation import ENDS, HONEST, Mutation, Mutations, bytes_of, refused
from tests.support.compact_thrift import Struct
from tests.support.forged_parquet import (
    columns_of,
    equal_weeks,
    forge_footer,
    forge_page,
    put,
    put_values,
    set_rows,
)

_NOTHING: dict[str, int] = {}
MANY = (-1, 0, 2**31 - 1, 2**40, 2**62)


def mutations() -> Mutations:
    for kind in SEALED_TABLES:
        for what, change in _forged().items():
            # Consistent claims, such as no rows at all, are judged by the rules on rows.
            # The engine reads page headers, and a forged one may end its process.
            expected = ENDS if what.endswith(("of a page", "of the dictionary")) else HONEST
            yield Mutation(f"{kind}.parquet: {what}", bytes_of(kind, change), expected)
        for rows in (2**28 + 1, 2**31, 2**33, 2**61):
            change = partial(forge_footer, change=partial(set_rows, rows=rows))
            for said in (_NOTHING, {"rows": rows}):
                what = f"{rows} rows{' and the manifest too' if said else ''}"
                expected = refused("table.columns", "seal.size")
                yield Mutation(f"{kind}.parquet says {what}", bytes_of(kind, change, **said), expected)
    for rows in (2_000_000, 20_000_000):
        for declared in (rows, 14):
            rules = ("table.columns",) if rows > 10**7 else ("table.key",)
            name = f"rebalances: {rows} equal rows, {declared} declared"
            yield Mutation(
                name,
                bytes_of("rebalances", partial(_equal_rows, rows=rows), rows=declared),
                refused(*rules),
            )
    for rows in (500_000, 4_000_000):
        rules = ("table.columns",) if rows > 10**6 else ("table.key",)
        change = partial(_equal_decisions, rows=rows)
        yield Mutation(
            f"decisions: {rows} equal rows", bytes_of("decisions", change, rows=rows), refused(*rules)
        )
    for compression in ("zstd", "gzip", "snappy", "brotli"):
        for dictionary in (True, False):
            change = partial(_long_texts, compression=compression, dictionary=dictionary)
            name = f"rebalances: texts of 16 MiB by {compression}, {'in a dictionary' if dictionary else 'plain'}"
            yield Mutation(name, bytes_of("rebalances", change), refused("table.columns", "table.bound"))


def _forged() -> dict[str, Callable[[bytes], bytes]]:
    forged: dict[str, Callable[[bytes], bytes]] = {}
    for value in MANY:
        forged[f"{value} rows of the footer"] = partial(forge_footer, change=put(3, value))
        forged[f"{value} rows of the row group"] = partial(forge_footer, change=_of_groups(value))
        for number, what in {
            1: "type",
            4: "codec",
            5: "values",
            6: "unpacked bytes",
            7: "bytes",
            9: "place",
        }.items():
            if number > 4 or 0 <= value < 2**31:
                change = partial(
                    forge_footer, change=_of_columns(number, value if number > 4 else value % 99)
                )
                forged[f"{value} as {what} of the columns"] = change
        for dictionary in (False, True):
            of = "of the dictionary" if dictionary else "of a page"
            page = partial(forge_page, dictionary=dictionary)
            forged[f"{value} values {of}"] = partial(page, change=put_values(value))
            forged[f"{value} unpacked bytes {of}"] = partial(page, change=put(2, value))
            forged[f"{value} bytes {of}"] = partial(page, change=put(3, value))
    return forged


def _of_columns(number: int, value: int) -> Callable[[Struct], None]:
    def change(footer: Struct) -> None:
        for column in columns_of(footer):
            put(number, value)(column)

    return change


def _of_groups(value: int) -> Callable[[Struct], None]:
    def change(footer: Struct) -> None:
        for group in footer[4].value:
            put(3, value)(group)

    return change


def _equal_rows(_: bytes, rows: int) -> bytes:
    return equal_weeks(rows)


def _equal_decisions(raw: bytes, rows: int) -> bytes:
    one = pl.read_parquet(raw).head(1)
    frame = one.select(pl.all().repeat_by(rows).explode())
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _long_texts(raw: bytes, compression: str, *, dictionary: bool) -> bytes:
    rows = pq.read_table(pa.BufferReader(raw))
    texts = pa.array(["x" * 2**24] * rows.num_rows)
    sink = pa.BufferOutputStream()
    changed = rows.set_column(rows.column_names.index("week_status"), "week_status", texts)
    pq.write_table(changed, sink, compression=compression, use_dictionary=dictionary)
    written: bytes = sink.getvalue().to_pybytes()
    return written
