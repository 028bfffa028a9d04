"""Read and validate daily benchmark prices from Parquet files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import polars as pl

from datasets.figures.price import Benchmark
from datasets.market_data.operator_files import read_all, read_columns, refused
from schemas.errors import SettingsError
from schemas.market_data import DEFAULT_NAMES, MARKET_DATA, SIMULATED_KEY, SIMULATED_SYMBOLS, USUAL_BENCHMARK
from schemas.plurals import counted
from schemas.settings import SETTINGS, setting_named_in_errors, setting_value

_YES: Final = frozenset({"1", "true", "yes"})
_FILE: Final = "_file"
_SIMULATED: Final = "_simulated"
_SETTING: Final = SETTINGS["market_data"]
_SYMBOLS_SHOWN: Final = 5
_KIND: Final = "market data"
_refused: Final = partial(refused, _KIND)


def read_benchmarks(files: Mapping[str, bytes]) -> dict[str, Benchmark]:
    """Decode market-data files.

    Parameters
    ----------
    files : Mapping[str, bytes]
        Name -> bytes of each Parquet file; a symbol may be spread over several files.

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
    duplicates = rows.filter(pl.struct(MARKET_DATA.key).is_duplicated())
    if duplicates.height:
        example = duplicates.row(0, named=True)
        names = ", ".join(duplicates.head(2)[_FILE].unique(maintain_order=True))
        raise _refused(
            names,
            "a symbol has one row per day",
            f"{example['symbol']} has several on {example['date']}",
        )
    parts = rows.partition_by("symbol", as_dict=True, maintain_order=True)
    return {str(key[0]): _benchmark(str(key[0]), part) for key, part in parts.items()}


def is_configured(market_data: str | os.PathLike[str] | None) -> bool:
    """Whether an address of market data is given, or the setting."""
    return setting_value(_SETTING, os.environ, market_data) is not None


def read_symbols(
    market_data: str | os.PathLike[str] | None, symbols: Iterable[str | None]
) -> list[Benchmark]:
    """Read some benchmarks.

    Parameters
    ----------
    market_data : str, os.PathLike or None
        A Parquet file or a folder of them, local or on a supported store; None to use the setting of that name.
    symbols : iterable of str or None
        Symbols in upper or lower case; None for SPY, or for the only symbol.

    Returns
    -------
    list of Benchmark
        Benchmarks in the order of `symbols`.

    Raises
    ------
    SettingsError
        When market data are not configured, a symbol is missing, or a file breaks a rule.
    StorageUnavailable
        When the store does not answer.
    """
    place = setting_value(_SETTING, os.environ, market_data)
    if place is None:
        raise SettingsError(
            f"no market data: give a Parquet file or a folder of them, or set {_SETTING.variable}"
        )
    with setting_named_in_errors("market_data"):
        benchmarks = read_benchmarks(read_all(place))
    return [_pick(benchmarks, symbol, place) for symbol in symbols]


def _pick(benchmarks: Mapping[str, Benchmark], symbol: str | None, place: str) -> Benchmark:
    names = list(benchmarks)
    shown = ", ".join(names[:_SYMBOLS_SHOWN]) + (", …" if len(names) > _SYMBOLS_SHOWN else "")
    held = f"{counted(len(names), 'symbol')}: {shown}"
    if symbol is None:
        if USUAL_BENCHMARK not in benchmarks and len(benchmarks) > 1:
            raise SettingsError(f"{place} holds {held}; name the benchmark among them")
        symbol = USUAL_BENCHMARK if USUAL_BENCHMARK in benchmarks else next(iter(benchmarks))
    name = str(symbol).upper()
    if name not in benchmarks:
        raise SettingsError(f"{place} holds no row of {name}; it has {held}")
    return benchmarks[name]


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
    """Decode a file to the declared columns; add its name and whether its prices are simulated."""
    columns = read_columns(MARKET_DATA, _KIND, file, data)
    slashed = columns.rows["symbol"].filter(columns.rows["symbol"].str.contains("/", literal=True))
    if slashed.len():
        raise _refused(
            file, "symbol is without slash, as a part of an address", f"it is {slashed[0]!r} in one row"
        )
    simulated = columns.metadata.get(SIMULATED_KEY.encode(), b"").decode("utf-8", "replace")
    return columns.rows.with_columns(pl.col("symbol").str.to_uppercase()).with_columns(
        pl.lit(file).alias(_FILE), pl.lit(simulated.strip().lower() in _YES, pl.Boolean).alias(_SIMULATED)
    )
