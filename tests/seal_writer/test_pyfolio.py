"""Frames of pyfolio become books, and frames that cannot are refused by name."""

from __future__ import annotations

import pandas as pd
import pytest
from alpha_results_seal import Calendar, SealError
from alpha_results_seal.pyfolio import ledger_from_pyfolio, ledger_from_zipline

NYSE = Calendar("America/New_York", "09:30", "16:00")
DAYS = pd.bdate_range("2024-01-01", periods=4)
CLOSES = pd.DataFrame({"AAA": [10.0, 11.0, 12.0, 13.0]}, DAYS)
RETURNS = pd.Series([0.0, 0.0, 0.1, 1.0 / 11.0], DAYS)  # ten shares at 11, of an equity of 100
POSITIONS = pd.DataFrame({"AAA": [0.0], "cash": [100.0]}, DAYS[:1])
TRANSACTIONS = pd.DataFrame({"symbol": ["AAA"], "amount": [10.0], "price": [11.0]}, DAYS[1:2])


def test_books_have_the_equity_of_the_returns() -> None:
    ledger = ledger_from_pyfolio(RETURNS, POSITIONS, TRANSACTIONS, CLOSES, NYSE)
    assert ledger.tables["portfolio"]["ending_equity"].to_list() == pytest.approx([100.0, 110.0, 120.0])


def test_a_missing_column_of_the_transactions_is_named() -> None:
    named = TRANSACTIONS.rename(columns={"symbol": "sid"})
    with pytest.raises(SealError, match="transactions have no column 'symbol'"):
        ledger_from_pyfolio(RETURNS, POSITIONS, named, CLOSES, NYSE)


def test_a_missing_column_of_ziplines_performance_is_named() -> None:
    with pytest.raises(SealError, match="performance has no column 'orders'"):
        ledger_from_zipline(RETURNS.to_frame("returns"), NYSE)


def test_a_session_without_a_return_is_named() -> None:
    unknown = RETURNS.where(RETURNS.index != DAYS[2])
    with pytest.raises(SealError, match="pyfolio has no equity on 2024-01-03"):
        ledger_from_pyfolio(unknown, POSITIONS, TRANSACTIONS, CLOSES, NYSE)
