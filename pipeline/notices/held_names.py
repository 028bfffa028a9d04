"""Up to 64 names that a book held, session by session."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.rows import Symbols, expanded, place_in, to_days
from pipeline.reconciliation.tables import Tables


@dataclass(frozen=True, slots=True)
class Holdings:
    """Some names of a book by session; every array has shape (names, sessions), NaN where the name is not held at the close.

    Attributes
    ----------
    book
        Its name.
    days
        Sessions as days since 1970, ascending, shape (sessions,).
    marks
        Price at the close.
    quantities
        Shares; negative where the position is short.
    """

    book: str
    days: Integers
    marks: Floats
    quantities: Floats

    @property
    def sides(self) -> Floats:
        """1 where the position is long, -1 where it is short; NaN where the name is not held."""
        sides: Floats = np.sign(self.quantities)
        return sides


def sample_holdings(tables: Tables, book: str, sessions: Integers, symbols: Symbols) -> Holdings | None:
    """Return the positions of a book in the names that are first by digest; None where it held nothing.

    Parameters
    ----------
    tables
        With positions.
    sessions
        Days since 1970, ascending.
    symbols
        Of the tables.
    """
    runs = tables.runs("positions")
    run, rows = expanded(runs, np.flatnonzero((runs.heads["book"] == book).to_numpy()))
    code = tables.symbols("positions").codes[rows]
    codes = np.sort(symbols.first(np.bincount(code, minlength=symbols.width) > 0))
    if not codes.size:
        return None
    name = symbols.places(codes)[code]
    session, known = place_in(to_days(runs.heads["date"])[run], sessions)
    chosen = known & (name >= 0)
    marks, quantities = (np.full((codes.size, sessions.size), np.nan) for _ in range(2))
    for table, column in ((marks, "mark_price"), (quantities, "quantity")):
        table[name[chosen], session[chosen]] = tables["positions"][column].to_numpy()[rows[chosen]]
    return Holdings(book, sessions, marks, quantities)
