"""A small market file, and variants that break its rules."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

DAYS = [
    dt.date(2024, 1, 2),
    dt.date(2024, 1, 3),
    dt.date(2024, 1, 4),
    dt.date(2024, 1, 5),
    dt.date(2024, 1, 8),
]


def prices(**columns: Any) -> pl.DataFrame:
    """Five sessions of one symbol; given columns replace or add, None removes."""
    result: dict[str, Any] = {
        "date": DAYS,
        "symbol": ["ABC"] * 5,
        "close": [100.0, 110.0, 99.0, 99.0, 121.0],
        "adj_close": [50.0, 55.0, 49.5, 50.0, 61.0],
    } | columns
    return pl.DataFrame({name: values for name, values in result.items() if values is not None})


def parquet(frame: pl.DataFrame, **metadata: str) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


@pytest.fixture
def market_file() -> Callable[..., bytes]:
    """Return a factory of market files; `metadata` goes into the file, columns into the frame."""
    return lambda metadata=None, **columns: parquet(prices(**columns), **(metadata or {}))
