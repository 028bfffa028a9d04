"""Market prices from an operator's Parquet files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from datasets.market_data.operator_files import find_files, read_columns, read_files, refused
from datasets.storage import Signature, open_storage
from pipeline.notices.rows import place_in, to_days
from schemas.errors import DiskUnavailable, SettingsError, SnapshotCorrupt
from schemas.market_data import PRICES
from schemas.notices.signal import DAYS_PER_WEEK
from schemas.settings import SETTINGS

_KIND: Final = "market prices"
_SETTING: Final = SETTINGS["prices"].flag
_NO_DAY: Final = 0


@dataclass(frozen=True, slots=True)
class MarketPrices:
    """Prices by day and name; the arrays have shape (days + 1, names), NaN where there is no price; the last row is all NaN.

    Attributes
    ----------
    names
        Type of their symbols.
    days
        Days with a price, as days since 1970, ascending.
    closes, opens
        As in the files.
    adjustments
        adj_close / close; its change is the contribution of dividends and splits to a return.
    digest
        SHA-256 of the files.
    """

    names: pl.Enum
    days: Integers
    closes: Floats
    opens: Floats
    adjustments: Floats
    digest: str

    def count(self, names: Integers) -> tuple[Integers, Integers]:
        """Count the prices of some names by day.

        Parameters
        ----------
        names
            Numbers of symbols in :attr:`names`; none stands for all.

        Returns
        -------
        days, number : Integers, shape (days,)
            Days with a price, as days since 1970, ascending, and how many of the names have one.
        """
        closes = self.closes[:-1, names] if names.size else self.closes[:-1]
        number = np.isfinite(closes).sum(axis=1)
        return self.days[number > 0], number[number > 0]

    def join(self, rows: pl.DataFrame, day: str, suffix: str = "") -> pl.DataFrame:
        """Add ``close``, ``open`` and ``adjustment`` of the ``symbol`` on a day; null where there is none.

        Parameters
        ----------
        rows
            Rows whose ``symbol`` has the type :attr:`names`.
        day, suffix
            Column with the day, and suffix of the added columns.
        """
        place, known = place_in(to_days(rows[day]), self.days)
        at = np.where(known, place, self.days.size), rows["symbol"].to_physical().to_numpy()
        tables = {"close": self.closes, "open": self.opens, "adjustment": self.adjustments}
        return rows.with_columns(
            pl.Series(name + suffix, table[at], nan_to_null=True) for name, table in tables.items()
        )


def first_session_after(days: pl.Series, sessions: Integers) -> pl.Series:
    """Return the first session after each day; 1970-01-01, a holiday everywhere, where the sessions begin later or leave a week out.

    Parameters
    ----------
    days
        Dates.
    sessions
        Days since 1970, ascending.
    """
    day = to_days(days)
    place = np.searchsorted(sessions, day, side="right")
    first = np.append(sessions, _NO_DAY)[place]
    first[(place == 0) | (first > day + DAYS_PER_WEEK)] = _NO_DAY
    return pl.Series(first).cast(pl.Int32).cast(pl.Date)


def require_prices(address: str) -> None:
    """Check that there are market prices at an address, with columns of the declared types.

    Raises
    ------
    SettingsError
        When there is no file, or a file lacks the declared form; the message names the file, the rule and the fix.
    StorageUnavailable
        When the store does not answer.
    """
    with _readable():
        storage = open_storage(address)
        for file, data in read_files(storage, find_files(storage)):
            read_columns(PRICES, _KIND, file, data, types_only=True)


def read_prices(address: str) -> MarketPrices:
    """Read market prices; a process that builds many seals reads unchanged files once.

    Parameters
    ----------
    address
        A Parquet file or a folder of them, on this machine or a supported store.

    Raises
    ------
    SettingsError
        As :func:`require_prices`; also when a price breaks a rule.
    StorageUnavailable
        When the store does not answer.
    """
    with _readable():
        return _read(address, tuple(find_files(open_storage(address)).items()))


@lru_cache(maxsize=1)
def _read(address: str, signatures: tuple[tuple[str, Signature], ...]) -> MarketPrices:
    digest, files, parts = hashlib.sha256(), [], []
    for file, data in read_files(open_storage(address), (name for name, _ in signatures)):
        digest.update(data)
        files.append(file)
        parts.append(read_columns(PRICES, _KIND, file, data).rows)
    rows = pl.concat(parts)
    names = pl.Enum(rows["symbol"].unique().sort())
    days = to_days(rows["date"].unique().sort()).astype(np.int64)
    place = np.searchsorted(days, to_days(rows["date"]).astype(np.int64))
    at = place, rows["symbol"].cast(names).to_physical().to_numpy()
    tables = {}
    for name in ("close", "open", "adj_close"):
        tables[name] = np.full((days.size + 1, len(names.categories)), np.nan)
        tables[name][at] = rows[name].to_numpy()
    if np.isfinite(tables["close"]).sum() < rows.height:
        repeated = rows.select(PRICES.key)
        symbol, day = repeated.filter(repeated.is_duplicated()).row(0)
        raise refused(
            _KIND, ", ".join(files), "a symbol has one row per day", f"{symbol} has several on {day}"
        )
    adjustments = tables["adj_close"] / tables["close"]
    return MarketPrices(names, days, tables["close"], tables["open"], adjustments, digest.hexdigest())


@contextmanager
def _readable() -> Iterator[None]:
    """Convert a failure to read a local file into a SettingsError, and name the flag in each."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{_SETTING}: {error}") from error
    except (DiskUnavailable, SnapshotCorrupt, FileNotFoundError) as error:
        raise SettingsError(
            f"{_SETTING}: {error}; give a readable Parquet file or a folder of them"
        ) from error
