"""Random prices of ten names over three months, and weekly scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

NAMES = [f"N{at}" for at in range(10)]
DAYS = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-04-06"))
DAYS = DAYS[np.is_busday(DAYS)]
FRIDAYS = DAYS[4::5]


def wide(values: Any, days: Any = DAYS) -> pl.DataFrame:
    return pl.DataFrame(values, NAMES).insert_column(0, pl.Series("date", days))


def long(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    return frame.unpivot(index="date", variable_name="symbol", value_name=value)


def market(seed: int, gaps: float = 0.0) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    close = 20.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, (DAYS.size, len(NAMES))), axis=0))
    opened = close * np.exp(rng.normal(0.0, 0.01, close.shape))
    missing = rng.random(close.shape) < gaps
    close[missing] = opened[missing] = np.nan
    return {"open": wide(opened), "close": wide(close)}


SCORES = wide(np.random.default_rng(3).normal(size=(FRIDAYS.size, len(NAMES))), FRIDAYS)
