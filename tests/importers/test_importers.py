"""Real results of other libraries become seals that pass the strict check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.rules.checking import check
from pipeline.seal import Seal
from tests.importers.conftest import Run

RunIn = Callable[[str], Run]


def require_sound(folder: Path, report: Mapping[str, Any]) -> None:
    """Compare each seal with the library's own result."""
    assert report["seals"]
    for name, own in report["seals"].items():
        seal = Seal.open(str(folder / name))
        checked = check(seal)
        assert checked.violations == checked.warnings == (), name
        ledger = seal.table("portfolio")
        assert ledger["ending_equity"].to_list() == pytest.approx(
            [own["equity"][str(day)] for day in ledger["date"]], rel=1e-9
        ), name
        last = seal.table("positions").filter(pl.col("date") == ledger["date"].max())
        shares = {symbol: shares for symbol, shares in own["shares"].items() if abs(shares) > 1e-9}
        assert dict(last.select("symbol", "quantity").iter_rows()) == pytest.approx(shares), name
        assert seal.table("trades")["fee"].sum() == pytest.approx(own["fees"]), name
        unknown = any("target weights and scores are unknown" in note for note in own["notes"])
        assert unknown != seal.has("decisions"), name


def test_results_of_vectorbt_become_seals_with_its_equity_holdings_and_fees(
    run_in: RunIn, tmp_path: Path
) -> None:
    report = run_in("vectorbt==1.2.0")("with_vectorbt.py", tmp_path)
    require_sound(tmp_path, report)
    slippage = [
        Seal.open(str(tmp_path / name)).table("portfolio")["execution_cost"].sum()
        for name in ("shared", "shared_with_mids")
    ]
    assert slippage[1] < slippage[0] < 0, "slippage is a cost only where the prices before it are given"
    decisions = Seal.open(str(tmp_path / "complete")).table("decisions")
    assert set(decisions["score"]) == {1.0, 2.0, 3.0}
    assert decisions["forward_return"].null_count() == 3, "those of the last week"
    assert "which has no weights" in report["few_weights"]
    assert "several bars a day" in report["hourly"]
    assert (
        "filled on the first session, 2024-01-01, but a decision is on a day before its fill"
        in report["first_bar"]
    )


CASH_FLOW = "there was a cash flow without a fill (+1000.000000), such as dividends, interest or deposits"


@pytest.mark.parametrize(
    ("packages", "script", "case", "said"),
    [
        ("bt==1.4.1", "with_bt.py", "paid_in", [CASH_FLOW]),
        (
            "backtrader==1.9.78.123 pandas",
            "with_backtrader.py",
            "without_commissions",
            ["such as commissions"],
        ),
        ("zipline-reloaded==3.2.1", "with_zipline.py", "paid_in", [CASH_FLOW]),
        ("nautilus_trader==1.221.0", "with_nautilus.py", "paid_in", ["that of NautilusTrader", CASH_FLOW]),
    ],
    ids=["bt", "backtrader", "zipline", "NautilusTrader"],
)
def test_results_of_other_engines_become_seals_with_their_equity_holdings_and_fees(
    run_in: RunIn, tmp_path: Path, packages: str, script: str, case: str, said: list[str]
) -> None:
    report = run_in(packages)(script, tmp_path)
    require_sound(tmp_path, report)
    for text in said:
        assert text in report[case]


def test_recorders_of_qlib_become_seals_with_its_account_holdings_and_fees(
    run_in: RunIn, tmp_path: Path
) -> None:
    report = run_in("pyqlib==0.9.7")("with_qlib.py", tmp_path)
    require_sound(tmp_path, report)
    assert report["weeks"] == 26
    assert "such as commissions" in report["without_costs"]


def test_weights_of_skfolio_and_pyportfolioopt_become_complete_seals_with_the_equity_of_drifting_weights(
    run_in: RunIn, tmp_path: Path
) -> None:
    report = run_in("skfolio==1.12.2 PyPortfolioOpt==1.6.0")("with_optimisers.py", tmp_path)
    for name, own in report["seals"].items():
        seal = Seal.open(str(tmp_path / name))
        checked = check(seal)
        assert checked.violations == checked.warnings == (), name
        ledger = dict(seal.table("portfolio").select(pl.col("date").cast(str), "ending_equity").iter_rows())
        assert ledger == pytest.approx(own["equity"], rel=1e-8), name
        assert seal.table("decisions")["long_only_target_weight"].sum() > 0, name
    assert "that of skfolio" in report["rebalanced_daily"]
