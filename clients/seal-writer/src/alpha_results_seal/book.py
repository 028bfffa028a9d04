"""One double-entry book, session by session: fills change shares and cash, and the close marks the holdings."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.checks import COLUMNS, typed
from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import Floats

DUST = 1e-10
"""Remainder of a holding, as a fraction of the traded quantity, that counts as zero."""


class Book:
    """The state and the records of one book over N names.

    Parameters
    ----------
    name
        Name of the book.
    symbols
        The N names.
    equity_basis
        Opening cash, in units of the ledger.
    """

    def __init__(self, name: str, symbols: tuple[str, ...], equity_basis: float) -> None:
        self.name = name
        self.symbols = symbols
        self.equity = self.cash = equity_basis
        self.shares = np.zeros(len(symbols))
        self.notional = np.zeros(len(symbols))
        self._paid = np.zeros(len(symbols))
        self._cost = np.zeros(len(symbols))
        self._filled = np.zeros(len(symbols), dtype=bool)
        self._decision = dt.date.min
        self._traded = 0.0
        self._fills: list[tuple[Any, ...]] = []
        self.filled_on: dict[dt.date, dict[str, dt.datetime]] = {}
        """Day of a decision -> the names that it filled, with the instants of their fills."""
        self._sessions: list[dict[str, Any]] = []
        self._positions: list[pl.DataFrame] = []
        self._earned: list[pl.DataFrame] = []

    def fill(
        self,
        at: int,
        after: float,
        *,
        mid: float,
        price: float,
        fee: float,
        instant: dt.datetime,
        decision: dt.date,
        settlement: bool = False,
    ) -> None:
        """Trade one name to a holding; a fill across zero is recorded as a close and an open.

        Parameters
        ----------
        at
            Index of the name.
        after
            Position after the trade, in shares.
        mid, price
            Reference price, and the price achieved, which must not be better than the mid.
        fee
            Commission of the trade, in money.
        instant, decision
            Instant of the fill, in UTC, and day of the decision.
        settlement
            Whether the position is settled outside the market, and so not by its decision.
        """
        before = float(self.shares[at])
        if before * after < 0:
            share = abs(before) / (abs(before) + abs(after))
            steps = [(before, 0.0, fee * share), (0.0, after, fee - fee * share)]
        else:
            steps = [(before, after, fee)]
        for old, new, charged in steps:
            quantity = new - old
            cost = charged + quantity * (price - mid)
            if old == 0:
                phase, change = "open", "entry"
            elif new == 0:
                phase, change = "close", "exit"
            else:
                phase, change = "rebalance", "weight_increase" if abs(new) > abs(old) else "weight_decrease"
            exit_reason = ("risk_exit" if settlement else "signal_exit") if phase == "close" else None
            self._fills.append(
                (
                    f"{self.name}_settlements" if settlement else self.name,
                    instant,
                    decision,
                    self.symbols[at],
                    phase,
                    quantity,
                    mid,
                    price,
                    charged,
                    cost,
                    change,
                    exit_reason,
                )
            )
            self._paid[at] += quantity * mid
            self._cost[at] += cost
            self._traded += abs(quantity * mid)
        if not settlement:
            self.filled_on.setdefault(decision, {})[self.symbols[at]] = instant
        self._decision = decision
        self._filled[at] = True
        self.shares[at] = after

    def settle(self, ended: Any, received: Floats, instant: dt.datetime) -> None:
        """Settle the holdings of the names that have ended, shape (N,), at the prices received, without cost."""
        for at in np.flatnonzero(ended & (self.shares != 0)):
            price = float(received[at])
            self.fill(
                int(at), 0.0, mid=price, price=price, fee=0.0,
                instant=instant, decision=self._decision, settlement=True,
            )  # fmt: skip

    def close(
        self, day: dt.date, instant: dt.datetime, marks: Floats, borrow: float, interest: float | None
    ) -> None:
        """Close a session: mark holdings, charge shorts, credit cash, and record the rows.

        Parameters
        ----------
        day, instant
            The session and the instant of its close, in UTC.
        marks
            Shape (N,): closing prices; read only for holdings.
        borrow, interest
            Rates of the session; an interest of None is unstated, and none is credited.

        Raises
        ------
        SealError
            If the book has no equity left, so that weights are undefined.
        """
        held = self.shares != 0
        after = np.where(held, self.shares * np.where(held, marks, 0.0), 0.0)
        market = after - self.notional - self._paid
        charged = np.where(after < 0, borrow * after, 0.0)
        cost = 0.0 - self._cost
        named = np.flatnonzero(held | (self.notional != 0) | self._filled)
        carry = 0.0 if interest is None else self.cash * interest
        flows = float(charged.sum()) + carry
        cash = self.cash - float(self._paid.sum()) + float(cost.sum()) + flows
        value = float(after.sum())
        equity = cash + value
        if not equity > 0:
            raise SealError(
                f"{self.name} has lost all its equity on {day} ({equity:.6g} is left): weights are undefined from here. "
                "End the run on the session before, take smaller weights, or state the equity_basis of recorded fills, by default 1."
            )
        self._sessions.append(
            {
                "book": self.name, "date": day, "timestamp": instant,
                "starting_equity": self.equity, "ending_equity": equity,
                "cash_start": self.cash, "cash_end": cash, "position_value_end": value,
                "market_pnl": float(market.sum()), "execution_cost": float(cost.sum()),
                "borrow_cashflow": float(charged.sum()), "cash_carry": carry, "risk_free_return": interest,
                "gross_notional": float(np.abs(after).sum()), "net_notional": value,
                "turnover_notional": self._traded,
            }
        )  # fmt: skip
        names = np.array(self.symbols, dtype=object)
        place = np.flatnonzero(held)
        self._positions.append(
            self._rows(day, names[place]).with_columns(
                quantity=pl.Series(self.shares[place]),
                mark_price=pl.Series(marks[place]),
            )
        )
        self._earned.append(
            self._rows(day, names[named]).with_columns(
                market_pnl=pl.Series(market[named]),
                execution_cost=pl.Series(cost[named]),
                borrow_cashflow=pl.Series(charged[named]),
            )
        )
        self.equity, self.cash, self.notional = equity, cash, after
        self._paid[:], self._cost[:], self._filled[:], self._traded = 0.0, 0.0, False, 0.0

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the four tables of the book, sorted by their keys, without columns that follow from others."""
        fills = pl.DataFrame(self._fills, list(COLUMNS["trades"]), orient="row", infer_schema_length=None)
        tables = {
            "portfolio": pl.DataFrame(self._sessions, infer_schema_length=None),
            "positions": pl.concat(self._positions),
            "pnl": pl.concat(self._earned),
            "trades": fills.sort("timestamp", "symbol", maintain_order=True),
        }
        return {kind: typed(kind, frame) for kind, frame in tables.items()}

    def _rows(self, day: dt.date, names: Any) -> pl.DataFrame:
        symbols = pl.Series("symbol", names.tolist(), dtype=pl.String)
        return symbols.to_frame().select(book=pl.lit(self.name), date=pl.lit(day), symbol="symbol")
