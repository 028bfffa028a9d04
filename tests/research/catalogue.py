"""A small catalogue of alphas with different calendars, lengths and values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from datasets.figures.series import Floats
from tests.support import published

BOOK = "long_short"
SESSIONS = tuple(day for n in range(200) if (day := dt.date(2021, 1, 4) + dt.timedelta(days=n)).weekday() < 5)
WEEKS = SESSIONS[4::5]
NAMES = tuple(f"N{n:02d}" for n in range(24))

Curve = dict[dt.date, float]
"""Day to return, for the days with a return."""


def draw_returns() -> dict[str, Curve]:
    """Return each alpha's returns: related ones, one without holidays, shorter ones, a constant one, …"""
    draw = np.random.default_rng(11)
    n = len(SESSIONS)
    common = draw.normal(0.0004, 0.01, n)
    series: dict[str, Floats] = {
        f"Test_like_{k}": share * common + draw.normal(0, 0.006, n)
        for k, share in enumerate((1.0, 0.8, 0.5, 0.0, -0.6, -1.0))
    }
    series["Test_late"] = np.where(np.arange(n) < 90, np.nan, common + draw.normal(0, 0.004, n))
    series["Test_early"] = np.where(np.arange(n) > 70, np.nan, common + draw.normal(0, 0.004, n))
    series["Test_holes"] = np.where(np.arange(n) % 7 == 3, np.nan, common + draw.normal(0, 0.004, n))
    series["Test_flat"] = np.zeros(n)
    series["Test_few"] = np.where(np.arange(n) < n - 6, np.nan, common)
    series["Test_twin"] = series["Test_like_1"].copy()
    series["Prod_secret"] = series["Test_like_0"] + draw.normal(0, 1e-4, n)
    results = {
        alpha: {day: float(x) for day, x in zip(SESSIONS, values, strict=True) if not np.isnan(x)}
        for alpha, values in series.items()
    }
    weekend = {SESSIONS[0] + dt.timedelta(days=5 + 7 * week): 0.001 * week for week in range(12)}
    mixed = 0.3 * common + draw.normal(0, 0.01, n)
    results["Test_weekends"] = {**dict(zip(SESSIONS, mixed.tolist(), strict=True)), **weekend}
    return results


def ledger(curve: Curve) -> pl.DataFrame:
    """Write a ledger with these returns, up to rounding."""
    equity, rows = 1.0, []
    template = published.ledger(BOOK)
    for day, change in sorted(curve.items()):
        end = equity * (1.0 + change)
        rows.append(
            {
                **dict.fromkeys(template.columns, 0.0),
                "date": day,
                "timestamp": dt.datetime.combine(day, dt.time(21), dt.UTC),
                "starting_equity": equity,
                "ending_equity": end,
            }
        )
        equity = end
    return pl.DataFrame(rows, schema=template.schema)


def returns_of(frame: pl.DataFrame) -> Curve:
    """Return a ledger's returns by plain division."""
    rows = frame.select("date", "starting_equity", "ending_equity").iter_rows()
    return {day: (end - start) / start for day, start, end in rows}


def decisions(seed: int, mix: float) -> pl.DataFrame:
    """Weekly scores with ties, nulls and names of this alpha only."""
    draw, shared = np.random.default_rng(seed), np.random.default_rng(5)
    template = published.decisions()
    rows: list[dict[str, Any]] = []
    for week in WEEKS:
        base = shared.normal(size=len(NAMES))
        own = np.round(mix * base + draw.normal(size=len(NAMES)), 1)
        for name, score in zip(NAMES, own.tolist(), strict=True):
            if draw.random() < 0.2:
                continue
            rows.append(
                {
                    **dict.fromkeys(template.columns),
                    "date": week,
                    "symbol": name,
                    "score": None if draw.random() < 0.1 else score,
                    "cohort_size": len(NAMES),
                    "long_short_target_weight": 0.0,
                    "long_only_target_weight": 0.0,
                    "next_open_tradeable": True,
                }
            )
    return pl.DataFrame(rows, schema=template.schema)


def positions(seed: int) -> pl.DataFrame:
    """Positions at each close, none on some days."""
    draw = np.random.default_rng(seed)
    template = published.positions(BOOK)
    rows = [
        {
            "date": day,
            "symbol": name,
            "quantity": 1.0,
            "mark_price": 1.0,
            "signed_notional": 1.0,
            "weight": float(draw.normal()),
        }
        for day in SESSIONS[::3]
        if draw.random() > 0.1
        for name in NAMES
        if draw.random() < 0.5
    ]
    return pl.DataFrame(rows, schema=template.schema)


def publish_alpha(root: Path | str, alpha: str, curve: Curve, number: int, **changes: Any) -> pl.DataFrame:
    """Publish an alpha, and return its ledger."""
    frame = ledger(curve)
    kinds: dict[str, Any] = {"portfolio": {BOOK: frame}}
    if number < 5:
        kinds |= {
            "rebalances": published.rebalances(),
            "decisions": decisions(number, 1.0 - number / 5),
            "positions": {BOOK: positions(number)},
        }
    published.publish(root, kinds, alpha_id=alpha, **changes)
    return frame
