"""Decoding of market-data files to benchmarks, with validation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import polars as pl

from datasets.operator_files import read_columns, refused
from schemas.errors import SettingsError
from schemas.market_data import DEFAULT_NAMES, MARKET_DATA, SIMULATED_KEY, SIMULATED_SYMBOLS
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
        rows["date"].to_numpy(),
        rows["close"].to_numpy(),
        rows["adj_close"].fill_null(math.nan).to_numpy(),
    )


def _rows(file: str, data: bytes) -> pl.DataFrame:
    """Decode one file to the declared columns, absent ones null, with the source of each row."""
    columns = read_columns(MARKET_DATA, "market data", file, data)
    simulated = columns.metadata.get(SIMULATED_KEY.encode(), b"").decode("utf-8", "replace")
    return columns.rows.with_columns(pl.col("symbol").str.to_uppercase()).with_columns(
        pl.lit(file).alias(_FILE), pl.lit(simulated.strip().lower() in _YES, pl.Boolean).alias(_SIMULATED)
    )


def _refused(file: str, rule: str, violation: str) -> SettingsError:
    return refused("market data", file, rule, violation)
