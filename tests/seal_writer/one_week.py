"""A calendar, the weights of one week, and closes."""

from __future__ import annotations

from datetime import date

import polars as pl
from alpha_results_seal import Calendar

NYSE = Calendar("America/New_York", "09:30", "16:00")
WEEK = pl.DataFrame({"date": [date(2024, 1, 5)], "AAA": [0.5]})
CLOSE = pl.DataFrame(
    {"date": [date(2024, 1, 5), date(2024, 1, 8), date(2024, 1, 9)], "AAA": [10.0, 11.0, 12.0]}
)
