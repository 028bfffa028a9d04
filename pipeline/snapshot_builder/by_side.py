"""Sums of positions and P&L by session and side, computed while the tables are written in parts."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from datasets.figures.concentration import Holdings, PnlBreakdown, Side, SidePnl
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Dates, Flags, Floats

_SIDES: Final = 3
"""Short, flat and long: the sign of a position plus one."""


class BySide:
    """Sums the positions and P&L of one book; the sums do not depend on how a run is split into parts.

    Parameters
    ----------
    sessions
        Days of the book's ledger, ascending; rows of other days are ignored.
    """

    def __init__(self, sessions: Dates) -> None:
        self._days = sessions.astype("datetime64[D]").astype(np.int64)
        self._category = pl.Categorical(pl.Categories.random())
        # Keeps the numbering of Polars alive.
        self._numbered = pl.Series(["-"], dtype=self._category)
        # By session: long and short size, effective names (NaN without positions), long and short names.
        self._exposure = np.zeros((5, sessions.size))
        self._exposure[2] = np.nan
        self._sign = np.zeros((sessions.size, 0), np.int8)
        self._earned = np.zeros((2, sessions.size, _SIDES))
        self._by_name: Floats = np.zeros(0)
        self._named: Flags = np.zeros(0, np.bool_)

    def add_positions(self, rows: pl.DataFrame) -> None:
        """Add positions: complete days in order, and before their P&L, because they determine its sides."""
        placed = self._places(rows)
        if placed is None:
            return
        rows, session, starts, codes = placed
        notional = rows["signed_notional"].to_numpy()
        short, long = np.minimum(notional, 0.0), np.maximum(notional, 0.0)
        # Squares of notionals near 1: scaling by a power of two is exact, and no equity is too large or small to be squared.
        _, exponent = np.frexp(np.abs(notional).max())
        columns = (long, -short, np.square(np.ldexp(notional, -exponent)), notional > 0, notional < 0)
        sums = np.stack([np.add.reduceat(x, starts, dtype=np.float64) for x in columns])
        gross, squares = np.ldexp(sums[0] + sums[1], -exponent), sums[2]
        sums[2] = np.divide(np.square(gross), squares, out=np.full_like(gross, np.nan), where=squares > 0)
        self._exposure[:, session[starts]] = sums
        self._widen(codes)
        self._sign[session, codes] = np.sign(notional)

    def add_pnl(self, rows: pl.DataFrame) -> None:
        """Add P&L by name: complete days in order."""
        placed = self._places(rows)
        if placed is None:
            return
        rows, session, _, codes = placed
        self._widen(codes)
        side = self._sign[session, codes]
        (closed,) = np.nonzero((side == 0) & (session > 0))
        side[closed] = self._sign[session[closed] - 1, codes[closed]]
        # Sessions are counted from the first of the part, which has complete days.
        first, last = int(session[0]), int(session[-1])
        cell = (session - first) * _SIDES + 1 + side
        net = rows["net_pnl"].to_numpy()
        for place, values in enumerate((net, rows["market_pnl"].to_numpy())):
            by_cell = np.bincount(cell, values, (last - first + 1) * _SIDES)
            self._earned[place, first : last + 1] += by_cell.reshape(-1, _SIDES)
        # Added row by row, so that the result does not depend on the parts.
        known = np.arange(self._by_name.size, dtype=codes.dtype)
        sums = np.bincount(np.append(known, codes), np.append(self._by_name, net))
        self._by_name = sums.astype(np.float64, copy=False)
        named = np.zeros(self._by_name.size, np.bool_)
        named[: self._named.size] = self._named
        named[codes] = True
        self._named = named

    def holdings(self) -> Holdings:
        """Return the positions by session of the ledger."""
        long, short, effective, names_long, names_short = self._exposure
        return Holdings(effective, Side(long, names_long), Side(short, names_short))

    def profit(self) -> PnlBreakdown:
        """Return the P&L by name, and of each side by session of the ledger."""
        net, market = self._earned
        # Sorted, so that sums do not depend on the numbering of names.
        by_name = np.sort(self._by_name[self._named])
        return PnlBreakdown(
            by_name,
            SidePnl(net[:, 2], market[:, 2]),
            SidePnl(net[:, 0], market[:, 0]),
            float(net[:, 1].sum()),
        )

    def _places(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, Integers, Integers, Integers] | None:
        """Return the rows of the ledger's sessions, the session of each, the first row of each day, and name numbers.

        Returns None if there is no such row.
        """
        if not rows.height or not self._days.size:
            return None
        days = rows["date"].cast(pl.Int32).to_numpy()
        starts = np.flatnonzero(np.diff(days, prepend=days[0] - 1))
        lengths = np.diff(starts, append=days.size)
        day_session = np.searchsorted(self._days, days[starts])
        known = self._days.take(day_session, mode="clip") == days[starts]
        if not known.all():
            return self._places(rows.filter(pl.Series(np.repeat(known, lengths))))
        # The integer type of array indices, so that no conversion is needed below.
        codes = rows["symbol"].cast(self._category).to_physical().to_numpy().astype(np.int64)
        return rows, np.repeat(day_session, lengths), starts, codes

    def _widen(self, codes: Integers) -> None:
        missing = int(codes.max()) + 1 - self._sign.shape[1]
        if missing > 0:
            self._sign = np.pad(self._sign, ((0, 0), (0, missing)))
