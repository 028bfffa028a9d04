"""LEAN's files become exact books, or are refused with the missing cash.

Their form is that of LEAN's ``SerializedOrderEvent`` and of its charts, as candlesticks and as points.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from alpha_results_seal import Calendar, SealError, SealWriter
from alpha_results_seal.lean import ledger_from_lean

from pipeline.rules.checking import check
from pipeline.seal import Seal

NYSE = Calendar("America/New_York", "09:30", "16:00")
DAYS = np.arange(np.datetime64("2024-03-04"), np.datetime64("2024-03-30"))  # clocks go forward on the 10th
DAYS = DAYS[np.is_busday(DAYS)]
NAMES = ["SPY", "AAPL"]
CLOSES = 100.0 * np.exp(np.cumsum(np.random.default_rng(2).normal(0.0, 0.01, (DAYS.size, 2)), axis=0))
FRAME = pl.DataFrame(CLOSES, NAMES).insert_column(0, pl.Series("date", DAYS))
CASH = 100_000.0
TRADES = [(2, 0, 100.0, 1.01), (2, 1, -50.0, 1.0), (7, 0, -100.0, 1.37), (11, 1, 80.0, 1.0)]
"""Session, name, quantity and fee; filled five cents off the close, at half past ten."""


def at(session: int, hours: float) -> float:
    """Seconds of a time of the New York day, in UTC."""
    opened: dt.datetime = NYSE.opens(DAYS[session : session + 1])[0]
    return (opened + dt.timedelta(hours=hours - 9.5)).timestamp()


def event(number: int, session: int, name: int, quantity: float, fee: float) -> list[dict[str, Any]]:
    shared = {
        "algorithmId": "123", "orderId": number, "symbol": f"{NAMES[name]} R735QTJ8XC9X", "symbolValue": NAMES[name],
        "symbolPermtick": NAMES[name], "fillPriceCurrency": "USD", "direction": "buy" if quantity > 0 else "sell",
        "isAssignment": False, "quantity": quantity,
    }  # fmt: skip
    submitted = {
        "id": f"123-{number}-1",
        "orderEventId": 1,
        "time": at(session, 9.6),
        "status": "submitted",
        "fillPrice": 0.0,
        "fillQuantity": 0.0,
    }
    filled = {
        "id": f"123-{number}-2", "orderEventId": 2, "time": at(session, 10.5), "status": "filled", "orderFeeAmount": fee,
        "orderFeeCurrency": "USD", "fillPrice": price(session, name, quantity), "fillQuantity": quantity,
    }  # fmt: skip
    return [{**shared, **submitted}, {**shared, **filled}]


def price(session: int, name: int, quantity: float) -> float:
    return round(float(CLOSES[session, name]) + (0.05 if quantity > 0 else -0.05), 4)


def write(
    folder: Path,
    *,
    dividend: float = 0.0,
    points: bool = False,
    change: Callable[[Any, Any], None] = lambda _, __: None,
) -> tuple[Path, Path]:
    cash, held, values = CASH, np.zeros(2), []
    events: list[dict[str, Any]] = []
    for session in range(DAYS.size):
        values.append(
            (at(session, 9.5), cash + float(held @ CLOSES[max(session - 1, 0)]))
        )  # sampled in the day too
        for number, (when, name, quantity, fee) in enumerate(TRADES, 1):
            if when == session:
                events += event(number, session, name, quantity, fee)
                held[name] += quantity
                cash -= quantity * price(session, name, quantity) + fee
        cash += dividend * held[0] * (session == 5)
        values.append((at(session, 16.0 if session % 2 else 20.0), cash + float(held @ CLOSES[session])))
    series = [{"x": x, "y": round(y, 4)} if points else [x, y, y, y, round(y, 4)] for x, y in values]
    result: Any = {
        "charts": {
            "Strategy Equity": {
                "name": "Strategy Equity",
                "series": {"Equity": {"unit": "$", "values": series}},
            }
        }
    }
    change(events, result)
    paths = folder / "123-order-events.json", folder / "123.json"
    for path, document in zip(paths, (events, result), strict=True):
        path.write_text(json.dumps(document))
    return paths


@pytest.mark.parametrize("points", [False, True])
def test_lean_books_and_fees_are_reproduced_exactly(tmp_path: Path, points: bool) -> None:
    ledger = ledger_from_lean(*write(tmp_path, points=points), FRAME, NYSE, equity_basis=CASH)
    # The last order turns a short holding long: one fill closes, one opens, and they share its fee.
    assert sorted(ledger.tables["trades"]["fee"].to_list()) == [3 / 8, 5 / 8, 1.0, 1.01, 1.37]
    writer = SealWriter(tmp_path / "seal", alpha_id="Test_lean", engine=("LEAN", "2.5"))
    report = check(Seal.open(str(writer.add_ledger(ledger).write())))
    assert report.violations == report.warnings == ()
    assert ledger.tables["portfolio"]["date"][0] == DAYS[2].item()
    assert any("dated by the session before" in note for note in ledger.notes)


def two_currencies(events: Any, _: Any) -> None:
    events[1]["orderFeeCurrency"] = "EUR"


def assigned(events: Any, _: Any) -> None:
    events[1]["isAssignment"] = True


def without_fills(events: Any, _: Any) -> None:
    events.clear()


def without_chart(_: Any, result: Any) -> None:
    result["charts"] = {}


def cut(_: Any, result: Any) -> None:
    del result["charts"]["Strategy Equity"]["series"]["Equity"]["values"][-1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (two_currencies, "has fills and fees in EUR, USD: a book has one currency"),
        (assigned, "has an assignment of an option"),
        (without_fills, "has no fill"),
        (without_chart, "has no chart 'Strategy Equity' with a series 'Equity'"),
        (cut, "LEAN has no equity on 2024-03-29, a session with prices"),
    ],
)
def test_invalid_lean_results_are_refused_by_name(tmp_path: Path, change: Any, said: str) -> None:
    with pytest.raises(SealError, match=said):
        ledger_from_lean(*write(tmp_path, change=change), FRAME, NYSE, equity_basis=CASH)


def test_a_dividend_without_an_event_is_refused_with_its_day_and_amount(tmp_path: Path) -> None:
    with pytest.raises(
        SealError, match=r"on 2024-03-11 the equity from fills is .* \(\+2[45]\.\d+\), such as dividends"
    ):
        ledger_from_lean(*write(tmp_path, dividend=0.25), FRAME, NYSE, equity_basis=CASH)
    with pytest.raises(SealError, match="cannot be read as JSON"):
        ledger_from_lean(tmp_path / "nowhere.json", tmp_path / "123.json", FRAME, NYSE, equity_basis=CASH)


def test_files_given_in_the_other_order_are_refused_with_theirs(tmp_path: Path) -> None:
    events, result = write(tmp_path)
    with pytest.raises(SealError, match=r"123\.json is not a list of order events: give <id>-order"):
        ledger_from_lean(result, events, FRAME, NYSE, equity_basis=CASH)
