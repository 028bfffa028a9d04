"""The books, session by session: fills at the open, marks at the close, cash in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from examples.reference_engine.fills import (
    CHANGES,
    EXITS,
    FEE_PER_SHARE,
    PHASES,
    VARIANTS,
    Tape,
    execution_price,
)
from examples.reference_engine.ledger_tables import names_table, portfolio_table
from examples.reference_engine.market import Market
from examples.reference_engine.sessions import Flags, Floats

NO_TRADE_BAND = 0.0005
"""A holding is not rebalanced by less than this share of the book's equity."""

WEIGHT_CAP = 1.1
"""Within the week a holding is trimmed to this multiple of its own weekly target weight."""

STOP_LOSS = 0.08
"""Within the week a holding is closed after moving this far against the book since the weekly open."""

CASH_QUANTUM = 1e-12
"""Cash is kept in multiples of this share of the opening equity; the rest is the rounding adjustment."""

_SESSIONS_PER_YEAR = 252


@dataclass(frozen=True, eq=False)
class Ledger:
    """Books of one run.

    Attributes
    ----------
    portfolio, positions, pnl, trades
        The four tables, sorted by key.
    filled
        Shape (B, W, N): whether a weekly decision was followed by a fill of its book at the next open.
    """

    portfolio: pl.DataFrame
    positions: pl.DataFrame
    pnl: pl.DataFrame
    trades: pl.DataFrame
    filled: Flags


def run_books(
    market: Market, weights: dict[str, Floats], traded: Flags, tradeable: Flags, equity_basis: float
) -> Ledger:
    """Run every book from the first open it trades at to the last observed close.

    Parameters
    ----------
    market
        Prices and rates.
    weights
        By book, shape (W, N): weekly target weights.
    traded
        Shape (W,): whether a week's decision is traded.
    tradeable
        Shape (W, N): names that can be filled at the open after the decision; the others keep their shares.
    equity_basis
        Opening equity of every book.

    Returns
    -------
    Ledger
        Its tables are never empty, as at least one week must be traded.
    """
    books = tuple(weights)
    targets = np.stack([weights[book] for book in books])
    week_at = {int(market.decisions[week]) + 1: int(week) for week in np.flatnonzero(traded)}
    state = _Books(market, len(books), equity_basis)
    filled = np.zeros(targets.shape, dtype=np.bool_)
    for session in range(min(week_at), market.observed):
        state.open_session(session)
        state.settle_delisted()
        week = week_at.get(session)
        if week is None:
            state.adjust()
        else:
            filled[:, week] = state.rebalance(targets[:, week], tradeable[week], int(market.decisions[week]))
        state.close_session()
    return Ledger(
        portfolio=portfolio_table(market, books, state.ledger),
        positions=names_table(market, books, state.holdings),
        pnl=names_table(market, books, state.results),
        trades=state.tape.frame(market, books),
        filled=filled,
    )


class _Books:
    """The state of B books over N names; every array is (B, N) or (B,)."""

    def __init__(self, market: Market, books: int, equity_basis: float) -> None:
        self.market = market
        self.basis = equity_basis
        # A name is not held before its first bar; a finite mark keeps its product with zero shares zero.
        self.marks = np.nan_to_num(market.marks, nan=1.0)
        self.bars = market.has_bar
        shape = (books, len(market.symbols))
        self.shares = np.zeros(shape)
        self.entry_mid = np.ones(shape[1])
        self.target = np.zeros(shape)
        self.equity = np.full(books, equity_basis)
        self.cash = self.equity.copy()
        self.decided = 0
        self.session = 0
        self.tape = Tape()
        self.ledger: list[dict[str, Floats | int]] = []
        self.holdings: list[dict[str, npt.NDArray[np.generic]]] = []
        self.results: list[dict[str, npt.NDArray[np.generic]]] = []

    def open_session(self, session: int) -> None:
        self.session = session
        self.opening_shares = self.shares.copy()
        self.before = self.marks[max(session - 1, 0)]
        self.mid = np.where(self.bars[session], self.market.opens[session], self.before)
        self.cost = np.zeros_like(self.shares)
        self.traded_notional = np.zeros_like(self.shares)

    def fill(
        self, after: Floats, *, variant: str, phase: str, change: Flags | str, exit_reason: str | None = None
    ) -> None:
        """Move the holdings to `after` at the opening mid, and record the fills on the tape."""
        shares = after - self.shares
        books, names = np.nonzero(shares)
        if not len(books):
            return
        moved, mid = shares[books, names], self.mid[names]
        notional = np.abs(moved) * mid
        settlement = variant == "_settlements"
        fee = np.zeros_like(notional) if settlement else FEE_PER_SHARE * np.abs(moved)
        price = (
            mid
            if settlement
            else execution_price(mid, moved, self.market.half_spread[names], notional / self.equity[books])
        )
        cost = fee + np.abs(moved * (price - mid))
        if isinstance(change, str):
            code: npt.NDArray[np.generic] | int = CHANGES.index(change)
        else:
            grows = change[books, names]
            code = np.where(grows, CHANGES.index("weight_increase"), CHANGES.index("weight_decrease"))
        self.tape.add(
            books, names, session=self.session, decided=self.decided, variant=VARIANTS.index(variant),
            phase=PHASES.index(phase), change=code, exit=EXITS.index(exit_reason),
            shares=moved, mid=mid, price=price, fee=fee, cost=cost,
        )  # fmt: skip
        self.cost[books, names] += cost
        self.traded_notional[books, names] += notional
        self.shares = after

    def settle_delisted(self) -> None:
        """Settle holdings of delisted names in cash at their last close, free of cost."""
        delisted = self.market.last < self.session
        self.fill(
            np.where(delisted, 0.0, self.shares),
            variant="_settlements", phase="close", change="exit", exit_reason="risk_exit",
        )  # fmt: skip

    def rebalance(self, target: Floats, tradeable: Flags, decided: int) -> Flags:
        """Trade a weekly decision; return which names were filled, shape (B, N)."""
        self.decided = decided
        can = tradeable & self.bars[self.session]
        frozen = np.where(can, 0.0, self.shares) * self.before / self.equity[:, None]
        # Frozen holdings use up their side's budget, so that names it cannot sell do not lever the book.
        longs = np.maximum(0.0, 1.0 - np.maximum(frozen, 0.0).sum(axis=1, keepdims=True))
        shorts = np.maximum(0.0, 1.0 + np.minimum(frozen, 0.0).sum(axis=1, keepdims=True))
        scaled = target * np.where(target > 0, longs, shorts)
        wanted = np.where(can, scaled * self.equity[:, None] / self.mid, self.shares)
        same_side = np.sign(wanted) == np.sign(self.shares)
        drift = np.abs(wanted - self.shares) * self.mid / self.equity[:, None]
        wanted = np.where(same_side & (drift < NO_TRADE_BAND), self.shares, wanted)
        moved: Flags = wanted != self.shares

        leaving = (self.shares != 0) & ~same_side
        self.fill(
            np.where(leaving, 0.0, self.shares),
            variant="", phase="close", change="exit", exit_reason="signal_exit",
        )  # fmt: skip
        entering = (self.shares == 0) & (wanted != 0)
        growing = np.abs(wanted) > np.abs(self.shares)
        self.fill(np.where(entering, self.shares, wanted), variant="", phase="rebalance", change=growing)
        self.fill(wanted, variant="", phase="open", change="entry")
        self.entry_mid = self.mid
        self.target = np.abs(target)
        return moved

    def adjust(self) -> None:
        """Between decisions, close holdings that hit their stop and trim those above their weight cap."""
        can = self.bars[self.session] & (self.shares != 0)
        adverse = np.sign(self.shares) * (self.before / self.entry_mid - 1.0)
        stopped = can & (adverse < -STOP_LOSS)
        self.fill(
            np.where(stopped, 0.0, self.shares),
            variant="_adjustments", phase="close", change="exit", exit_reason="risk_exit",
        )  # fmt: skip
        cap = WEIGHT_CAP * self.target
        weight = np.abs(self.shares) * self.before / self.equity[:, None]
        excess = can & (cap > 0) & (weight > cap)
        trimmed = np.divide(self.shares * cap, weight, out=self.shares.copy(), where=excess)
        self.fill(trimmed, variant="_adjustments", phase="rebalance", change="weight_decrease")

    def close_session(self) -> None:
        session, close = self.session, self.marks[self.session]
        market_pnl = self.opening_shares * (self.mid - self.before) + self.shares * (close - self.mid)
        short = np.minimum(self.shares, 0.0) * close
        borrow = short * self.market.borrow_rate / _SESSIONS_PER_YEAR + 0.0
        risk_free = self.market.risk_free[session]
        carry = self.cash * risk_free
        notional = self.shares * close
        value = notional.sum(axis=1)
        paid = ((self.shares - self.opening_shares) * self.mid).sum(axis=1)
        cash = self.cash - paid - self.cost.sum(axis=1) + borrow.sum(axis=1) + carry
        quantum = CASH_QUANTUM * self.basis
        cash = np.round(cash / quantum) * quantum
        ending = cash + value
        flows = market_pnl.sum(axis=1) - self.cost.sum(axis=1) + borrow.sum(axis=1) + carry
        weight = notional / ending[:, None]
        turnover = self.traded_notional.sum(axis=1)
        self.ledger.append(
            {
                "session": session,
                "starting_equity": self.equity,
                "ending_equity": ending,
                "cash_start": self.cash,
                "cash_end": cash,
                "position_value_end": value,
                "market_pnl": market_pnl.sum(axis=1),
                "execution_cost": 0.0 - self.cost.sum(axis=1),
                "borrow_cashflow": borrow.sum(axis=1),
                "cash_carry": carry,
                "risk_free_return": np.full_like(ending, risk_free),
                "rounding_adjustment": ending - (self.equity + flows),
                "gross_notional": np.abs(notional).sum(axis=1),
                "net_notional": value,
                "gross_exposure": np.abs(weight).sum(axis=1),
                "net_exposure": weight.sum(axis=1),
                "largest_abs_weight": np.abs(weight).max(axis=1),
                "turnover_notional": turnover,
                "turnover": 0.5 * turnover / self.equity,
            }
        )
        books, names = np.nonzero(self.shares)
        self.holdings.append(
            {
                "session": np.full(len(books), session),
                "book": books,
                "name": names,
                "quantity": self.shares[books, names],
                "mark_price": close[names],
                "signed_notional": notional[books, names],
                "weight": weight[books, names],
            }
        )
        books, names = np.nonzero((self.shares != 0) | (self.traded_notional > 0))
        self.results.append(
            {
                "session": np.full(len(books), session),
                "book": books,
                "name": names,
                "market_pnl": market_pnl[books, names] + 0.0,
                "execution_cost": 0.0 - self.cost[books, names],
                "borrow_cashflow": borrow[books, names],
            }
        )
        self.cash, self.equity = cash, ending
