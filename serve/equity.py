"""A ledger's window as the equity curve that is served."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from datasets.maths.equity import equity_curve, equity_summary
from schemas.rows import ROWS
from schemas.tables import TABLES
from serve.instants import day_or_null

_ROW: Final = ROWS["equity"]
LEDGER_COLUMNS: Final = tuple(x.name for x in _ROW.columns if x.name in TABLES["portfolio"])
"""What of the ledger a curve is made of."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The rows of the whole window, and what they come to.

    Attributes
    ----------
    rows
        The declared columns of an equity row, ascending by day.
    summary
        JSON-ready; of an empty window every figure is null.
    """

    rows: pl.DataFrame
    summary: dict[str, Any]


def curve(ledger: pl.DataFrame | None, book: str) -> Curve:
    """Measure a window.

    Parameters
    ----------
    ledger
        The window's rows of one book, ascending, with :data:`LEDGER_COLUMNS`; None stands for no rows.
    book
        For the summary.
    """
    if ledger is None:
        ledger = pl.DataFrame(
            schema={"date": pl.Date, "starting_equity": pl.Float64, "ending_equity": pl.Float64}
        )
    starting, ending = _floats(ledger, "starting_equity"), _floats(ledger, "ending_equity")
    measured = asdict(equity_curve(starting, ending))
    columns = {name: pl.Series(name, values, nan_to_null=True) for name, values in measured.items()}
    rows = ledger.with_columns(**columns)
    summary = equity_summary(ledger["date"].to_numpy(), starting, ending)
    return Curve(
        rows.select(column.name for column in _ROW.columns if column.name in rows.columns),
        {
            "book": book,
            **asdict(summary),
            "first_date": day_or_null(summary.first_date),
            "last_date": day_or_null(summary.last_date),
            "max_drawdown_date": day_or_null(summary.max_drawdown_date),
        },
    )


def _floats(frame: pl.DataFrame, column: str) -> npt.NDArray[np.float64]:
    return frame[column].fill_null(float("nan")).to_numpy()
