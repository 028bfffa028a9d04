"""Costs of a book: trading and borrowing, and its performance at higher costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import Field, figure, number, record, series
from schemas.metrics.families.family import ANNUALISED_RETURN, PER_YEAR, SHARPE, make_family
from schemas.units import Unit

MULTIPLES: Final = (0.0, 0.5, 1.0, 2.0, 3.0)
"""Multiples of the sealed costs."""
_GROSS: Final = "period_return - (execution_cost + borrow_cashflow) / starting_equity"
_NOVY_MARX: Final = "Novy-Marx and Velikov (2016), A Taxonomy of Anomalies and Their Trading Costs, Review of Financial Studies 29(1)"


def _ratios(name: str, meaning: str, of: str) -> Field:
    return record(
        name,
        meaning,
        replace(ANNUALISED_RETURN, formula=f"{ANNUALISED_RETURN.formula} of {of}"),
        replace(SHARPE, formula=f"{SHARPE.formula} of {of}", source=_NOVY_MARX),
        nullable=True,
    )


COSTS: Final = make_family(
    "costs",
    "Trading and borrowing costs of a book, its break-even, and its Sharpe ratio at other costs.",
    _ratios("gross", "Before execution costs and borrow, interest on cash included.", _GROSS),
    _ratios("net", "After costs, as in the ledger.", "period_return"),
    figure(
        "execution_cost",
        "Fees and impact over equity.",
        "-mean of execution_cost / starting_equity x 252",
        unit=PER_YEAR,
    ),
    figure(
        "borrow_cost",
        "Borrow over equity.",
        "-mean of borrow_cashflow / starting_equity x 252",
        unit=PER_YEAR,
    ),
    figure("turnover", "One-sided turnover: `core.turnover`.", "mean turnover x 252", unit=PER_YEAR),
    figure(
        "cost_bp",
        "Fees and impact of the traded notional.",
        "-sum of execution_cost / sum of turnover_notional x 10,000",
        unit="basis points of traded notional",
    ),
    figure(
        "break_even_multiple",
        "Multiple of execution costs and borrow that uses up the market P&L.",
        "sum of market_pnl / starting_equity over -sum of (execution_cost + borrow_cashflow) / starting_equity; "
        "null unless above 0",
        _NOVY_MARX,
    ),
    figure(
        "break_even_bp",
        "Execution cost that uses up market P&L less borrow.",
        "sum of (market_pnl + borrow_cashflow) / starting_equity over sum of turnover_notional / starting_equity x 10,000; "
        "null unless above 0",
        "Grundy and Martin (2001), Understanding the Nature of the Risks and the Source of the Rewards to Momentum Investing, "
        "Review of Financial Studies 14(1)",
        unit="basis points of traded notional",
    ),
    series(
        "at_multiples",
        "Performance at multiples of execution costs and borrow.",
        number("multiple", Unit.RATIO, "Of the sealed costs.", minimum=0),
        record(
            "fixed_quantities",
            "With the sealed quantities, and interest on the cash saved or spent: exact for a strategy whose quantities do not depend "
            "on equity. Null if the ledger does not state the rate of every session, or if equity is not above 0 at an open.",
            ANNUALISED_RETURN,
            SHARPE,
        ),
        record(
            "fixed_weights",
            "With quantities in proportion to equity, so that gross returns stay the same: an approximation of a strategy that targets "
            "weights, since bands, caps and impact change with the costs.",
            ANNUALISED_RETURN,
            SHARPE,
        ),
        formula="fixed_quantities: equity + D, D of a session = D before x (1 + risk_free_return) + (multiple - 1) "
        "(execution_cost + borrow_cashflow); fixed_weights: gross return + multiple (execution_cost + borrow_cashflow) / starting_equity",
        source=_NOVY_MARX,
        nullable=True,
    ),
    model="Costs",
    needs=("portfolio.ledger",),
)
