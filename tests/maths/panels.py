"""Random small panels with ties, nulls, constants, single names and missing weeks."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import numpy as np
import polars as pl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from datasets.figures.series import Dates, Floats

check = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
"""No deadline: the machine's speed is not what is tested."""
seeds = st.integers(0, 2**32 - 1)

STATUSES = ("traded", "traded", "traded", "traded", "pending", "constant_scores")
# Multiples of 1/16 compound and add exactly, so ties do not depend on the order of operations.
SCORES = (None, -1.5, -0.25, -0.0, 0.0, 0.125, 0.5, 2.0, 3.0)
RETURNS = (None, -0.5, -0.125, -0.0625, 0.0, 0.0625, 0.25, 0.5)
SCHEMA = {
    "date": pl.Date,
    "symbol": pl.String,
    "score": pl.Float64,
    "raw_score": pl.Float64,
    "forward_return": pl.Float64,
    "long_short_target_weight": pl.Float64,
    "long_only_target_weight": pl.Float64,
}


def days(n: int) -> Dates:
    """Return consecutive days."""
    return np.datetime64("2020-01-01", "D") + np.arange(n)


def ledger(returns: list[float]) -> tuple[Floats, Floats]:
    """Return the opening and closing equity of sessions with these returns."""
    equity: Floats = np.cumprod([1.0, *(1 + r for r in returns)], dtype=np.float64)
    return equity[:-1], equity[1:]


class Run(NamedTuple):
    rebalances: pl.DataFrame
    decisions: pl.DataFrame


def week(number: int) -> dt.date:
    return dt.date(2020, 1, 3) + dt.timedelta(weeks=number)


@st.composite
def runs(draw: st.DrawFn, max_weeks: int = 10, max_names: int = 7) -> Run:
    """Draw a run with shuffled rows and many ties."""
    statuses = draw(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=max_weeks))
    names = [f"S{n}" for n in range(draw(st.integers(1, max_names)))]
    rows = []
    for number, status in enumerate(statuses):
        constant = draw(st.booleans()) and draw(st.booleans())
        for name in names:
            if draw(st.integers(0, 9)) == 0:
                continue  # the name is not in that week's cross-section
            raw = 0.1 if constant else draw(st.sampled_from(SCORES))
            forward = None if status == "pending" else draw(st.sampled_from(RETURNS))
            score = draw(st.sampled_from(SCORES))
            rows.append((week(number), name, score, raw, forward, 0.25, 0.125))
    return Run(_index(statuses), _frame(draw(st.permutations(rows))))


@st.composite
def wide_runs(draw: st.DrawFn) -> Run:
    """Draw a run of few weeks with about the minimum number of names for deciles, from a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    grid = draw(st.sampled_from([4.0, 64.0, 1e9]))  # coarse: mostly ties; fine: none
    statuses = draw(st.lists(st.sampled_from(STATUSES), min_size=1, max_size=4))
    rows = []
    for number, status in enumerate(statuses):
        for name in range(draw(st.integers(15, 45))):
            raw = round(float(rng.normal()) * grid) / grid
            forward = float(rng.integers(-8, 9)) / 16
            weights = (float(rng.normal()), float(rng.uniform()))
            rows.append(
                (
                    week(number),
                    f"S{rng.integers(0, 9)}_{name}",
                    raw / 2,
                    None if rng.random() < 0.1 else raw,
                    None if status == "pending" or rng.random() < 0.1 else forward,
                    *weights,
                )
            )
    order = rng.permutation(len(rows))
    return Run(_index(statuses), _frame([rows[i] for i in order]))


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)


def _index(statuses: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"date": [week(n) for n in range(len(statuses))], "week_status": statuses})


def _frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
