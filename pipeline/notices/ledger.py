"""The ledgers of the books, with the sums of their pnl that notices use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.equity import period_returns
from datasets.figures.series import Dates, Flags, Floats
from schemas.tables.books import book_order, is_raw_book

_COLUMNS: Final = (
    "starting_equity", "ending_equity", "market_pnl", "execution_cost", "borrow_cashflow", "cash_carry",
    "risk_free_return", "rounding_adjustment", "gross_notional", "net_notional", "turnover_notional",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Flows:
    """Sums and counts of the pnl of one book.

    Attributes
    ----------
    cash_adjustment
        Sum over the run; None where none was sealed.
    cash_received, cash_paid, receipts, cash_squares
        Sums of the positive and of the negative cash adjustments, both without sign, the number of positive ones, and the sum of the
        squares of all.
    on_share_adjustments
        Sum of ``market_pnl`` on the name-days with a ``quantity_adjustment``; None where none was sealed.
    chance_on_share_adjustments
        Standard deviation of the sum of ``market_pnl`` over the same number of random name-days of the book.
    shorts, unborrowed
        Positions that are short at the close of a sampled session and at the close before, and how many of them cost nothing to
        borrow.
    """

    cash_adjustment: float | None = None
    cash_received: float = 0.0
    cash_paid: float = 0.0
    receipts: float = 0.0
    cash_squares: float = 0.0
    on_share_adjustments: float | None = None
    chance_on_share_adjustments: float = 0.0
    shorts: int = 0
    unborrowed: int = 0


_NO_FLOWS: Final = Flows()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one book, in the order of its sessions.

    Attributes
    ----------
    book
        Name of the book.
    dates
        Dates of its sessions.
    columns
        Column -> values, for the columns that the notices read.
    flows
        Sums of its pnl.
    """

    book: str
    dates: Dates
    columns: Mapping[str, Floats]
    flows: Flows = _NO_FLOWS

    def __getitem__(self, column: str) -> Floats:
        """Return a column."""
        return self.columns[column]

    def total(self, column: str) -> float:
        """Sum a column."""
        return float(self.columns[column].sum())

    @property
    def exposure(self) -> Floats:
        """Gross notional over ending equity, by session; not finite without equity."""
        with np.errstate(all="ignore"):
            return self["gross_notional"] / self["ending_equity"]

    @property
    def returns(self) -> Floats:
        """Return of each session, as :func:`datasets.figures.equity.period_returns`."""
        return period_returns(self["starting_equity"], self["ending_equity"])

    @property
    def invested(self) -> Flags:
        """Whether a session has positions; without any it earns interest alone."""
        return np.asarray((self["gross_notional"] > 0) | (self["market_pnl"] != 0))

    @property
    def profit(self) -> float:
        """Last ending equity less first starting equity."""
        return float(self["ending_equity"][-1] - self["starting_equity"][0])


def split_ledgers(portfolio: pl.DataFrame, flows: Mapping[str, Flows]) -> list[Ledger]:
    """Split a portfolio into the ledgers that notices use: all books except raw ones, long_short first.

    Parameters
    ----------
    portfolio
        As sealed.
    flows
        Book -> sums of its pnl.
    """
    ledgers = []
    for key, rows in portfolio.sort("date").partition_by("book", as_dict=True).items():
        book = str(key[0])
        if not is_raw_book(book):
            columns = {name: rows[name].to_numpy() for name in _COLUMNS}
            ledgers.append(Ledger(book, rows["date"].to_numpy(), columns, flows.get(book, _NO_FLOWS)))
    return sorted(ledgers, key=lambda ledger: book_order(ledger.book))
