"""The rules on fills."""

from __future__ import annotations

from typing import Final

import polars as pl

from pipeline.reconciliation.fills import fill_sessions
from pipeline.reconciliation.tables import FILL, SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows
from schemas.plurals import counted

_CLOSING: Final = "close"


@rule(
    "trades.session",
    "The UTC day of every fill is a session of its book in the portfolio; the _adjustments and _settlements "
    "variants have the sessions of the book they adjust.",
    "Seal the session in the portfolio, or correct the fill's time or book.",
    needs={"trades": ("book", "timestamp"), "portfolio": SESSION},
)
def trades_session(tables: Tables) -> Finding | None:
    """Report fills on days that are not a session of their book."""
    trades = tables["trades"]
    placed = trades.hstack(fill_sessions(trades).rename({"book": "_base", "date": "_day"}))
    broken = placed.join(
        tables["portfolio"].select(SESSION),
        left_on=("_base", "_day"),
        right_on=SESSION,
        how="anti",
        maintain_order="left",
    )
    message = f"{counted(broken.height, 'fill')} on a day that is not a session of the book"
    return broken_rows("trades", broken, FILL, message)


@rule(
    "trades.reasons",
    "exit_reason is set only on fills of the phase close.",
    "Leave exit_reason null on fills that open or re-target; use rebalance_adjustment_reason for those.",
    needs={"trades": ("phase", "exit_reason")},
)
def trades_reasons(tables: Tables) -> Finding | None:
    """Report fills with an exit reason that are not exits."""
    broken = tables["trades"].filter(pl.col("exit_reason").is_not_null() & (pl.col("phase") != _CLOSING))
    message = f"{counted(broken.height, 'fill')} with an exit_reason although the phase is not {_CLOSING}"
    return broken_rows("trades", broken, (*FILL, "phase", "exit_reason"), message)
