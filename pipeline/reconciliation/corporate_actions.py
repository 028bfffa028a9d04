"""Returns between unadjusted prices, corrected for splits, dividends and spin-offs.

For such prices a ledger seals, by holding and day, the shares and cash received without a fill. They take effect before
the open of that day.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import Codes, Flags, Floats
from pipeline.reconciliation.row_ranges import day_numbers
from pipeline.reconciliation.tables import CELL, SESSION
from schemas.tables.pnl import ADJUSTMENTS

_DAYS = np.int64(1) << 32
"""Larger than any day of a table, so that symbol and day form one key."""
Holding = tuple[Codes, Codes, Codes]
"""Symbol, and the days on which it is bought and sold at the open, each of shape (n_holdings,)."""


@dataclass(frozen=True, slots=True)
class CorporateActions:
    """The declared corporate actions of a run, by symbol and day.

    Attributes
    ----------
    key : Codes, shape (n_events,)
        Symbol and day of each event, ascending.
    shares : Floats, shape (n_events + 1,)
        Cumulative sum of the log ratio of shares after an event to shares before it.
    cash : Floats, shape (n_events + 1,)
        Cumulative sum of cash per share held before the first event, in the currency of the price.
    reinvested : Floats, shape (n_events + 1,)
        Cumulative sum of the log ratio of shares if the cash is reinvested at the last close.
    unknown : Codes, shape (n_events + 1,)
        Cumulative count of events whose effect per share the positions do not determine.
    held : Codes, shape (n_closes,)
        Symbol and day of each close at which a book holds the name, ascending; events are declared only for held names.
    sessions : Codes, shape (n_sessions,)
        Days of the ledger, ascending.
    """

    key: Codes
    shares: Floats
    cash: Floats
    reinvested: Floats
    unknown: Codes
    held: Codes
    sessions: Codes

    @classmethod
    def of(
        cls, pnl: pl.DataFrame, positions: pl.DataFrame, sessions: pl.DataFrame, codes: pl.DataFrame
    ) -> CorporateActions:
        """Read corporate actions from sealed tables.

        Parameters
        ----------
        pnl : polars.DataFrame
            ``book``, ``date``, ``symbol`` and at least one of ``quantity_adjustment`` and ``cash_adjustment``.
        positions : polars.DataFrame
            The same key columns, ``quantity`` and ``mark_price``.
        sessions : polars.DataFrame
            ``book`` and ``date`` of the ledger.
        codes : polars.DataFrame
            ``symbol`` and its ``code``.

        Returns
        -------
        CorporateActions
            Events of all books.
        """
        before = sessions.unique().sort(SESSION).with_columns(before=pl.col("date").shift(1).over("book"))
        holdings = positions.select("book", "symbol", "quantity", "mark_price", before="date")
        events = (
            pnl.with_columns(pl.lit(0.0).alias(name) for name in ADJUSTMENTS if name not in pnl.columns)
            .filter(pl.any_horizontal(pl.col(ADJUSTMENTS) != 0))
            .join(before, on=SESSION, how="left")
            .join(holdings, on=("book", "symbol", "before"), how="left")
        )
        quantity, after = pl.col("quantity"), pl.col("quantity") + pl.col("quantity_adjustment")
        share = after / quantity
        paid = pl.col("cash_adjustment") / after
        known = quantity.is_not_null() & (share > 0)
        reinvested = share / (1.0 - paid * share / pl.col("mark_price"))
        own = events.select(
            "symbol", "date",
            share=pl.when(known).then(share),
            paid=pl.when(known).then(paid),
            reinvested=pl.when(known & (reinvested > 0) & reinvested.is_finite()).then(reinvested),
        )  # fmt: skip
        spin_offs = _spin_offs(events.filter(quantity.is_null()), positions, before, holdings)
        by_name = (
            pl.concat([own, spin_offs])
            .group_by("symbol", "date")
            .agg(
                # If books disagree on an event, its effect per share counts as unknown.
                share=pl.when(pl.col("share").round_sig_figs(9).n_unique() == 1).then(
                    pl.col("share").first()
                ),
                paid=pl.col("paid").max(),
                reinvested=pl.col("reinvested").max(),
            )
            .join(codes, on="symbol")
            .sort("code", "date")
        )
        unknown = by_name.select(
            pl.any_horizontal(pl.col("share", "paid", "reinvested").is_null())
        ).to_series()
        share_growth = _running(np.log(by_name["share"].fill_null(1.0).to_numpy()))
        paid_per_share = by_name["paid"].fill_null(0.0).to_numpy() * np.exp(share_growth[1:])
        held = positions.select("symbol", "date").unique().join(codes, on="symbol")
        return cls(
            key=_key(by_name["code"].to_numpy(), day_numbers(by_name["date"])),
            shares=share_growth,
            cash=_running(paid_per_share),
            reinvested=_running(np.log(by_name["reinvested"].fill_null(1.0).to_numpy())),
            unknown=np.concatenate([[0], np.cumsum(unknown.to_numpy())]).astype(np.int64),
            held=np.sort(_key(held["code"].to_numpy(), day_numbers(held["date"]))),
            sessions=np.unique(day_numbers(sessions["date"])),
        )

    def declared(self, holding: Holding) -> Flags:
        """Find the holdings whose events are all declared because a book held the name at every close.

        Parameters
        ----------
        holding : Holding
            Symbols, first and last days.

        Returns
        -------
        Flags, shape (n_holdings,)
            False also when the effect of an event per share is unknown, or no session lies between the days.
        """
        symbol, first, last = holding
        start, stop = _key(symbol, first), _key(symbol, last)
        closes = np.searchsorted(self.held, stop) - np.searchsorted(self.held, start)
        sessions = np.searchsorted(self.sessions, last) - np.searchsorted(self.sessions, first)
        low, high = self._events(holding)
        return np.asarray((closes == sessions) & (sessions > 0) & (self.unknown[high] == self.unknown[low]))

    def nearest(self, entry: Floats, maturity: Floats, actual: Floats, holding: Holding) -> Floats:
        """Find the return nearest to the sealed one among the returns that the events allow.

        Parameters
        ----------
        entry, maturity : Floats, shape (n_holdings,)
            Prices of one share at the opens of the first and the last day.
        actual : Floats, shape (n_holdings,)
            Sealed returns, fractions.
        holding : Holding
            Symbols, first and last days.

        Returns
        -------
        Floats, shape (n_holdings,)
            Fractions. Allowed are the price return, the return with cash kept, with cash reinvested, and all values between
            them; with the additional shares, or without them, as for a spin-off.
        """
        low, high = self._events(holding)
        price = maturity / entry
        shares = np.exp(self.shares[high] - self.shares[low])
        cash_return = (self.cash[high] - self.cash[low]) / np.exp(self.shares[low]) / entry
        reinvested = np.exp(self.reinvested[high] - self.reinvested[low])
        nearest = np.full(actual.shape, np.nan)
        for factor in (shares, np.ones_like(shares)):
            candidates = (
                np.stack([price * factor, price * factor + cash_return, price * factor * reinvested / shares])
                - 1.0
            )
            candidate = np.clip(actual, candidates.min(axis=0), candidates.max(axis=0))
            nearer = ~(np.abs(nearest - actual) <= np.abs(candidate - actual))
            nearest = np.where(nearer, candidate, nearest)
        return nearest

    def _events(self, holding: Holding) -> tuple[Codes, Codes]:
        symbol, first, last = holding
        return (
            np.searchsorted(self.key, _key(symbol, first), "right"),
            np.searchsorted(self.key, _key(symbol, last), "right"),
        )


def _spin_offs(
    events: pl.DataFrame, positions: pl.DataFrame, before: pl.DataFrame, holdings: pl.DataFrame
) -> pl.DataFrame:
    """Count new shares of a name that was not held before as cash, at their close, paid by any holding of the book."""
    value = (
        events.join(positions.select(*CELL, mark="mark_price"), on=CELL, how="inner")
        .group_by("book", "date")
        .agg(value=(pl.col("quantity_adjustment") * pl.col("mark")).sum())
        .join(before, on=SESSION)
    )
    paid = pl.col("value") / pl.col("quantity")
    return (
        value.join(holdings, on=("book", "before"))
        .filter(paid > 0)
        .select(
            "symbol", "date",
            share=pl.lit(1.0),
            paid=paid,
            reinvested=1.0 + paid / pl.col("mark_price"),
        )
    )  # fmt: skip


def _running(values: Floats) -> Floats:
    return np.concatenate([np.zeros(1), np.cumsum(values)])


def _key(symbol: Codes, day: Codes) -> Codes:
    return symbol.astype(np.int64) * _DAYS + day
