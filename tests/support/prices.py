"""A benchmark over the sessions of a published run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import datasets


def write_prices(root: Path, alpha: str, file: Path) -> Path:
    """Write closes of SPY for every session of an alpha and some days around them."""
    sessions = datasets.open(root)[alpha].returns()["date"]
    first, last = sessions.cast(pl.Int32).min(), sessions.cast(pl.Int32).max()
    assert isinstance(first, int)
    assert isinstance(last, int)
    days = pl.int_range(first - 20, last + 20, dtype=pl.Int32, eager=True).cast(pl.Date)
    close = 300 * np.exp(np.cumsum(np.random.default_rng(5).normal(0.0004, 0.01, len(days))))
    frame = pl.DataFrame({"date": days, "symbol": "SPY", "close": close, "adj_close": close * 0.98})
    frame.filter(pl.col("date").dt.weekday() < 6).write_parquet(file)
    return file
