"""Costs of a book compared with pandas and with the reference engine at other costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import empyrical
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.costs import Flows, at_fixed_quantities, break_even_multiple, costs
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from datasets.figures.withheld import settle
from examples.reference_engine import AlphaSpec, Market, run_alpha, simulate_market
from examples.reference_engine import ledger as engine
from examples.reference_engine.ledger_tables import portfolio_table

YEAR = 252


def flows_of(ledger: pl.DataFrame) -> Flows:
    names = (
        *("starting_equity", "ending_equity", "market_pnl", "execution_cost", "borrow_cashflow"),
        *("risk_free_return", "turnover_notional", "turnover"),
    )
    return Flows(*(ledger[name].to_numpy() for name in names))


def market() -> Market:
    return simulate_market(3, 30, 60, skipped=False)


@pytest.fixture
def engine_at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a fixed plan of shares in the reference engine at a multiple of its costs."""
    monkeypatch.setattr("examples.reference_engine.fills.IMPACT_PER_WEIGHT", 0.0)
    monkeypatch.setattr(engine, "CASH_QUANTUM", 1e-15)

    def run(multiple: float) -> pl.DataFrame:
        plain = market()
        costly = replace(
            plain, half_spread=plain.half_spread * multiple, borrow_rate=plain.borrow_rate * multiple
        )
        monkeypatch.setattr(engine, "FEE_PER_SHARE", 0.001 * multiple)
        state = engine._Books(costly, 1, 1.0)  # noqa: SLF001 - the engine alone follows targets of weights
        draw = np.random.default_rng(8)
        for session in range(1, costly.observed):
            state.open_session(session)
            state.settle_delisted()
            if session % 5 == 0:
                held = costly.has_bar[session] & (costly.last > session + 5)
                plan = np.where(
                    held, draw.normal(0, 0.02, held.size) / np.nan_to_num(costly.opens[session], nan=1.0), 0.0
                )
                state.fill(plan[None, :], variant="", phase="open", change="entry")
            state.close_session()
        return portfolio_table(costly, ("long_short",), state.ledger)

    return run


@pytest.mark.parametrize("place", range(5))
def test_a_fixed_plan_at_other_costs_matches_the_engine(engine_at: Any, place: int) -> None:
    sealed = flows_of(engine_at(1.0))
    entry = costs(sealed)["at_multiples"][place]
    again = flows_of(engine_at(entry["multiple"]))
    returns = again.ending / again.starting - 1
    assert (again.execution_cost.sum() < sealed.execution_cost.sum()) == (entry["multiple"] > 1)
    assert at_fixed_quantities(sealed, entry["multiple"]) == pytest.approx(returns, abs=1e-12)
    assert entry["fixed_quantities"] == {
        "annualised_return": pytest.approx(empyrical.annual_return(returns), rel=1e-9),
        "sharpe": pytest.approx(empyrical.sharpe_ratio(returns), rel=1e-9),
    }


def test_fixed_weights_approximate_a_plan_of_weights_more_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.reference_engine.fills.IMPACT_PER_WEIGHT", 0.0)
    spec = AlphaSpec("Test_costs", "momentum", raw=False)

    def ledger(multiple: float) -> Flows:
        plain = market()
        monkeypatch.setattr(engine, "FEE_PER_SHARE", 0.001 * multiple)
        costly = replace(
            plain, half_spread=plain.half_spread * multiple, borrow_rate=plain.borrow_rate * multiple
        )
        return flows_of(run_alpha(costly, spec).tables["portfolio"].filter(pl.col("book") == "long_short"))

    result = costs(ledger(1.0))["at_multiples"]
    for entry in result:
        again = ledger(entry["multiple"])
        returns = again.ending / again.starting - 1
        assert entry["fixed_weights"]["sharpe"] == pytest.approx(empyrical.sharpe_ratio(returns), abs=0.02)


def ledger(seed: int, n: int = 300) -> Flows:
    draw = np.random.default_rng(seed)
    market_pnl = draw.normal(0.0006, 0.01, n)
    execution, borrow = -draw.uniform(0, 0.0004, n), -draw.uniform(0, 0.0001, n)
    ending: Floats = 1 + np.cumsum(market_pnl + execution + borrow)
    starting = np.concatenate([np.ones(1), ending])[:-1]
    traded = draw.uniform(0, 0.4, n)
    return Flows(
        starting, ending, market_pnl, execution, borrow, np.full(n, 0.00005), traded, traded / 2 / starting
    )


@pytest.mark.parametrize("seed", range(2))
def test_figures_match_empyrical_before_and_after_costs(seed: int) -> None:
    flows = ledger(seed)
    result = costs(flows)
    net = flows.ending / flows.starting - 1
    gross = (flows.ending - flows.execution_cost - flows.borrow) / flows.starting - 1
    for name, returns in (("net", net), ("gross", gross)):
        assert result[name]["sharpe"] == pytest.approx(empyrical.sharpe_ratio(returns), rel=1e-9)
        assert result[name]["annualised_return"] == pytest.approx(empyrical.annual_return(returns), rel=1e-9)
    assert result["cost_bp"] == pytest.approx(-1e4 * flows.execution_cost.sum() / flows.traded.sum())
    assert result["execution_cost"] == pytest.approx(YEAR * np.mean(-flows.execution_cost / flows.starting))
    assert result["turnover"] == pytest.approx(YEAR * flows.turnover.mean())
    at = {entry["multiple"]: entry for entry in result["at_multiples"]}
    assert list(at) == [0.0, 0.5, 1.0, 2.0, 3.0]
    for sizing in ("fixed_quantities", "fixed_weights"):
        assert at[1.0][sizing] == pytest.approx(result["net"], rel=1e-12)
    assert at[0.0]["fixed_weights"] == pytest.approx(result["gross"], rel=1e-12)


@given(st.integers(0, 10_000))
def test_the_break_even_multiple_earns_zero(seed: int) -> None:
    flows = ledger(seed, 50)
    multiple = break_even_multiple(flows)
    if isinstance(multiple, Unavailable):
        assert (flows.market_pnl / flows.starting).sum() <= 0
        return
    left = (flows.market_pnl + multiple * (flows.execution_cost + flows.borrow)) / flows.starting
    assert left.sum() == pytest.approx(0, abs=1e-12)
    sharpes = [entry["fixed_weights"]["sharpe"] for entry in costs(flows)["at_multiples"]]
    assert sharpes == sorted(sharpes, reverse=True)


def test_a_book_without_trades_or_profit_has_no_break_even() -> None:
    flows = ledger(1)
    idle = np.zeros(flows.starting.size)
    result = costs(replace(flows, execution_cost=idle, borrow=idle, traded=idle, turnover=idle))
    assert result["cost_bp"].text == "no trades"
    assert result["break_even_bp"].text == "no trades"
    assert "no execution costs" in result["break_even_multiple"].text
    rounded = replace(flows, execution_cost=-1e-18 * flows.starting, borrow=idle)
    assert "no execution costs" in costs(rounded)["break_even_multiple"].text
    losing = costs(replace(flows, market_pnl=-np.abs(flows.market_pnl)))
    assert "not above 0" in losing["break_even_multiple"].text
    assert "not above 0" in losing["break_even_bp"].text


def test_equity_at_or_below_zero_withholds_ratios_of_equity_only() -> None:
    flows = ledger(2)
    result = costs(replace(flows, starting=flows.starting - 1.0))
    for name in ("gross", "net", "execution_cost", "break_even_bp", "at_multiples"):
        assert result[name].code == "nonpositive_equity", name
    assert result["cost_bp"] > 0


@pytest.mark.parametrize("stated", [0, 100, 299])
def test_unchanged_quantities_are_withheld_unless_every_session_has_a_rate(stated: int) -> None:
    flows = ledger(3)
    rates = flows.risk_free.copy()
    rates[stated:] = np.nan
    result, full = costs(replace(flows, risk_free=rates)), costs(flows)
    served = settle(result)
    assert served["at_multiples"][4]["fixed_quantities"]["sharpe"] is None
    assert "rate of every session" in served["withheld"]["at_multiples.4.fixed_quantities.sharpe"]
    for entry, complete in zip(result["at_multiples"], full["at_multiples"], strict=True):
        assert entry["fixed_weights"] == complete["fixed_weights"], "which need no rate"


def test_without_sessions_figures_are_withheld() -> None:
    assert all(isinstance(value, Unavailable) for value in costs(ledger(1, 0)).values())


def test_a_book_without_costs_has_costs_of_zero_without_a_sign() -> None:
    ones, none = np.ones(3), np.zeros(3)
    figures = costs(Flows(ones, ones, none, none, none, none, ones, ones))
    for name in ("execution_cost", "borrow_cost", "cost_bp"):
        assert str(figures[name]) == "0.0", name
