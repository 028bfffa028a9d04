"""From the bytes of market-data files to benchmarks, every rule checked on the way."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import SettingsError
from schemas.market_data import DEFAULT_NAMES, MARKET_DATA, SIMULATED_KEY, SIMULATED_SYMBOLS
from schemas.table import PATTERNS, Bound, Column
from schemas.units import Type
from serve.market_data.series import Benchmark

_YES: Final = frozenset({"1", "true", "yes"})
_FILE: Final = "_file"
_SIMULATED: Final = "_simulated"


def read_benchmarks(files: Mapping[str, bytes]) -> dict[str, Benchmark]:
    """Decode market-data files.

    Parameters
    ----------
    files
        Name -> bytes of each Parquet file; a symbol may be spread over several.

    Returns
    -------
    dict of str to Benchmark
        By symbol in upper case, in alphabetical order.

    Raises
    ------
    SettingsError
        When a file is not a valid Parquet file or breaks a rule of :data:`schemas.market_data.MARKET_DATA`; the message
        names the file, the rule and an example.
    """
    rows = pl.concat([_rows(name, data) for name, data in sorted(files.items())])
    if rows.is_empty():
        raise _refused(", ".join(sorted(files)), "there is at least one row", "there is none")
    rows = rows.sort(MARKET_DATA.key)
    repeated = rows.filter(pl.struct(MARKET_DATA.key).is_duplicated())
    if repeated.height:
        example = repeated.row(0, named=True)
        others = ", ".join(repeated.head(2)[_FILE].unique(maintain_order=True))
        raise _refused(
            others,
            "a symbol has one row a day",
            f"{example['symbol']} on {example['date']} stands there twice",
        )
    parts = rows.partition_by("symbol", as_dict=True, maintain_order=True)
    return {str(key[0]): _benchmark(str(key[0]), part) for key, part in parts.items()}


def _benchmark(symbol: str, rows: pl.DataFrame) -> Benchmark:
    names = rows["name"].drop_nulls().unique(maintain_order=True)
    if names.len() > 1:
        shown = " and ".join(repr(name) for name in names.head(2))
        raise _refused(rows[_FILE][0], "a symbol has one name", f"{symbol} is called {shown}")
    simulated = bool(rows[_SIMULATED].any()) or symbol in SIMULATED_SYMBOLS
    name = str(names[0]) if names.len() else DEFAULT_NAMES.get(symbol, symbol)
    if simulated and "simulated" not in name.lower():
        name = f"{name} (simulated)"
    return Benchmark(
        symbol,
        name,
        simulated,
        rows["date"].to_numpy(writable=True),
        rows["close"].to_numpy(writable=True),
        rows["adj_close"].fill_null(math.nan).to_numpy(writable=True),
    )


def _rows(file: str, data: bytes) -> pl.DataFrame:
    """Decode one file to the declared columns, absent ones null, with where each row came from."""
    try:
        parquet = pq.ParquetFile(pa.BufferReader(data))
        present = [column.name for column in MARKET_DATA if column.name in parquet.schema_arrow.names]
        frame = pl.from_arrow(parquet.read(columns=present))
        metadata = parquet.metadata.metadata or {}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _refused(file, "it is a Parquet file", str(error).splitlines()[0]) from error
    assert isinstance(frame, pl.DataFrame)
    missing = [column.name for column in MARKET_DATA if not column.optional and column.name not in present]
    if missing:
        raise _refused(
            file,
            f"it has the columns {', '.join(c.name for c in MARKET_DATA if not c.optional)}",
            f"there is no {missing[0]}",
        )
    columns = [
        _checked(file, column, frame[column.name])
        if column.name in frame.columns
        else pl.Series(column.name, [None] * frame.height, dtype=_STORED[column.type])
        for column in MARKET_DATA
    ]
    said = metadata.get(SIMULATED_KEY.encode(), b"").decode("utf-8", "replace")
    return (
        pl.DataFrame(columns)
        .with_columns(pl.col("symbol").str.to_uppercase())
        .with_columns(
            pl.lit(file).alias(_FILE), pl.lit(said.strip().lower() in _YES, pl.Boolean).alias(_SIMULATED)
        )
    )


def _checked(file: str, column: Column, values: pl.Series) -> pl.Series:
    """Return a column in its declared type, or say which rule it breaks and where."""
    cast = _CASTS[column.type](values)
    if cast is None:
        raise _refused(file, f"{column.name} is {_WANTED[column.type]}", f"it is {values.dtype}")
    if column.type is Type.F64 and column.nullable:
        cast = cast.fill_nan(None)  # how data frames write "not known"
    if cast.null_count() and not column.nullable:
        row = cast.is_null().arg_true()[0]
        raise _refused(file, f"{column.name} has no nulls", f"there is one in row {row}")
    broken = cast.drop_nulls().filter(~_BOUNDS[column.bound](cast.drop_nulls()))
    if broken.len():
        raise _refused(file, f"{column.name} is {_SAID[column.bound]}", f"it is {broken[0]!r} in one row")
    return cast


def _refused(file: str, rule: str, found: str) -> SettingsError:
    return SettingsError(f"market data {file}: the rule is that {rule}, but {found}; correct the file")


def _days(values: pl.Series) -> pl.Series | None:
    """Accept days, and timestamps without a zone that all stand at midnight."""
    if values.dtype == pl.Date:
        return values if _written(values) else None
    if not isinstance(values.dtype, pl.Datetime) or values.dtype.time_zone is not None:
        return None
    days = values.cast(pl.Date)
    whole = days.cast(values.dtype).equals(values, null_equal=True)
    return days if whole and _written(days) else None


def _written(days: pl.Series) -> bool:
    """Whether every day can be written YYYY-MM-DD."""
    return bool(days.drop_nulls().is_between(dt.date.min, dt.date.max).all())


def _numbers(values: pl.Series) -> pl.Series | None:
    return values.cast(pl.Float64) if values.dtype.is_numeric() else None


def _texts(values: pl.Series) -> pl.Series | None:
    return values.cast(pl.String) if values.dtype in (pl.String, pl.Categorical, pl.Enum) else None


def _any(values: pl.Series) -> pl.Series:
    return values.is_not_null()


def _positive(values: pl.Series) -> pl.Series:
    return values.is_finite() & (values > 0)


def _ticker(values: pl.Series) -> pl.Series:
    return values.str.contains(f"^{PATTERNS[Bound.TICKER]}$") & ~values.str.contains("/", literal=True)


def _named(values: pl.Series) -> pl.Series:
    return values.str.contains(f"^{PATTERNS[Bound.NAME]}$") & (values.str.strip_chars().str.len_bytes() > 0)


_CASTS: Final[dict[Type, Callable[[pl.Series], pl.Series | None]]] = {
    Type.DATE: _days,
    Type.F64: _numbers,
    Type.STR: _texts,
}
_STORED: Final = {Type.DATE: pl.Date, Type.F64: pl.Float64, Type.STR: pl.String}
_WANTED: Final = {
    Type.DATE: "a DATE, or a timestamp at midnight without a zone, of the years 1 to 9999",
    Type.F64: "a number",
    Type.STR: "text",
}
_BOUNDS: Final[dict[Bound, Callable[[pl.Series], pl.Series]]] = {
    Bound.ANY: _any,
    Bound.POSITIVE: _positive,
    Bound.TICKER: _ticker,
    Bound.NAME: _named,
}
_SAID: Final = {
    Bound.ANY: "anything",
    Bound.POSITIVE: "a finite number above 0",
    Bound.TICKER: "not empty, without comma, slash or space, at most 64 printable characters",
    Bound.NAME: "not empty, at most 256 characters, without control characters",
}
