"""qlib's exports become exact books, or are refused with the missing cash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from alpha_results_seal import Calendar, Ledger, SealError, SealWriter
from alpha_results_seal.qlib import ledger_from_qlib

from pipeline.rules.checking import check
from pipeline.seal import Seal

SHANGHAI = Calendar("Asia/Shanghai", "09:30", "15:00")
COSTS = {"open_cost": 0.0005, "close_cost": 0.0015, "min_cost": 5.0}
DAYS = pd.bdate_range("2024-01-01", "2024-03-01")
NAMES = [f"SH60000{at}" for at in range(6)]


def exported(*, interest: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """A daily book of two names, as kept by qlib's exchange and account."""
    rng = np.random.default_rng(5)
    close = 10 * np.exp(np.cumsum(rng.normal(0, 0.02, (len(DAYS), len(NAMES))), axis=0))
    cash, held, accounts, rows = 1e6, np.zeros(len(NAMES)), {}, []
    for number, day in enumerate(DAYS[1:], 1):
        out, into, price = number % 6, (number + 3) % 6, close[number]
        sold = held[out] * price[out]
        if sold:
            cash += sold - max(sold * COSTS["close_cost"], COSTS["min_cost"])
            held[out] = 0.0
        bought = np.floor(0.3 * cash / price[into] / 100) * 100
        paid = bought * price[into]
        cash -= paid + max(paid * COSTS["open_cost"], COSTS["min_cost"])
        held[into] += bought
        cash += interest * (number == 20)
        accounts[day] = cash + float(held @ price)
        rows += [(day, NAMES[at], held[at]) for at in np.flatnonzero(held)]
    report = pd.DataFrame({"account": accounts}).rename_axis("datetime")
    return report, pd.DataFrame(rows, columns=["date", "symbol", "amount"]), pd.DataFrame(close, DAYS, NAMES)


def test_a_qlib_account_is_reproduced_and_its_seal_accepted(tmp_path: Path) -> None:
    ledger: Ledger = ledger_from_qlib(*exported(), SHANGHAI, equity_basis=1e6, **COSTS)
    writer = SealWriter(tmp_path / "seal", alpha_id="Test_qlib", engine=("qlib", "0.9.7"))
    report = check(Seal.open(str(writer.add_ledger(ledger).write())))
    assert report.violations == report.warnings == ()


@pytest.mark.parametrize(
    ("costs", "interest", "said"),
    [
        ({**COSTS, "min_cost": 0.0, "open_cost": 0.0}, 0.0, "such as commissions"),
        (
            COSTS,
            12.5,
            r"on 2024-01-29 the equity from fills is .*\(\+12\.500000\), such as dividends, interest or deposits",
        ),
    ],
)
def test_a_qlib_account_that_is_not_reproduced_is_refused(costs: Any, interest: float, said: str) -> None:
    with pytest.raises(SealError, match=said):
        ledger_from_qlib(*exported(interest=interest), SHANGHAI, equity_basis=1e6, **costs)


def test_a_report_without_the_account_is_refused() -> None:
    report, positions, closes = exported()
    with pytest.raises(SealError, match="report has no column 'account'"):
        ledger_from_qlib(
            report.rename(columns={"account": "value"}),
            positions,
            closes,
            SHANGHAI,
            equity_basis=1e6,
            **COSTS,
        )


def test_a_name_without_a_close_on_the_day_of_a_deal_is_named() -> None:
    report, positions, close = exported()
    close.loc[DAYS[5], NAMES[5]] = np.nan
    with pytest.raises(SealError, match="SH600005 was traded on 2024-01-08 and has no close that day"):
        ledger_from_qlib(report, positions, close, SHANGHAI, equity_basis=1e6, **COSTS)
