"""The daily tables of a seal, from the records of the books by session."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from examples.reference_engine.market import Market
from examples.reference_engine.sessions import Floats, closing_instants


def portfolio_table(
    market: Market, books: tuple[str, ...], rows: list[dict[str, Floats | int]]
) -> pl.DataFrame:
    """Return one row per book and session, sorted by book and date; `rows` have one number per book."""
    days = market.schedule[np.array([row["session"] for row in rows])]
    values = {key: np.stack([np.asarray(row[key]) for row in rows]) for key in rows[0] if key != "session"}
    return pl.concat(
        pl.DataFrame(
            {
                "book": [book] * len(rows),
                "date": days,
                "timestamp": closing_instants(days),
                **{key: value[:, place] for key, value in values.items()},
            }
        )
        for place, book in enumerate(books)
    ).sort("book", "date")


def names_table(
    market: Market, books: tuple[str, ...], sessions: list[dict[str, npt.NDArray[np.generic]]]
) -> pl.DataFrame:
    """Return one row per name recorded in a session, sorted by book, date and symbol."""
    columns = {key: np.concatenate([part[key] for part in sessions]) for key in sessions[0]}
    at = {key: columns.pop(key).astype(np.int64) for key in ("session", "book", "name")}
    return pl.DataFrame(
        {
            "book": pl.Series(books, dtype=pl.String).gather(at["book"]),
            "date": market.schedule[at["session"]],
            "symbol": pl.Series(market.symbols, dtype=pl.String).gather(at["name"]),
            **columns,
        }
    ).sort("book", "date", "symbol")
