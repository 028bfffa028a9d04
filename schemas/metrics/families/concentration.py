"""Sources of a book's profit: its legs, days, weeks and names."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, figure, record
from schemas.metrics.families.family import PER_YEAR, make_family
from schemas.units import Unit

BEST: Final = 10
"""Number of best days, weeks and names."""
_NAMES: Final = figure(
    "names", "Names held at the close.", "mean over sessions with positions", unit=Unit.COUNT, minimum=0
)


def _leg(side: str) -> Field:
    return record(
        side,
        f"The {side} positions: P&L of a name belongs to the side on which it is held at the close, or, if flat, at the previous close.",
        figure(
            "pnl",
            "P&L after execution costs and borrow.",
            f"sum of net_pnl of names held {side}",
            unit=Unit.BASE_CURRENCY,
        ),
        figure(
            "annualised_return",
            "P&L of the leg over the book's equity.",
            "mean of daily net_pnl of the leg / starting_equity x 252",
            unit=PER_YEAR,
        ),
        figure(
            "sharpe",
            "Mean over deviation of the leg's daily return, annualised.",
            "mean / deviation (ddof 1) of daily net_pnl of the leg / starting_equity x sqrt(252)",
        ),
        figure(
            "cost",
            "Execution costs and borrow of the leg over the book's equity.",
            "mean of (market_pnl - net_pnl) of the leg / starting_equity x 252",
            unit=PER_YEAR,
        ),
        figure(
            "exposure",
            "Size of the leg at the close.",
            "mean of sum of |signed_notional| / ending_equity",
            minimum=0,
        ),
        _NAMES,
        nullable=True,
    )


CONCENTRATION: Final = make_family(
    "concentration",
    "Contribution of each leg of a book, and the share of its P&L from its best days, weeks and names.",
    figure(
        "best_days_share",
        f"Share of the P&L from the {BEST} best days; above 1 if the others lost.",
        f"sum of the {BEST} highest daily changes of equity / change of equity over the run",
    ),
    figure(
        "best_weeks_share",
        f"Share of the P&L from the {BEST} best calendar weeks, Monday to Sunday.",
        f"sum of the {BEST} highest weekly changes of equity / change of equity over the run",
    ),
    figure(
        "best_names_share",
        f"Share of the P&L from the {BEST} best names.",
        f"sum of the {BEST} highest sums of net_pnl by name / sum of net_pnl",
    ),
    figure(
        "sharpe_without_best_days",
        f"Sharpe ratio without the {BEST} days with the highest returns.",
        "mean / deviation (ddof 1) x sqrt(252) of the other daily returns",
    ),
    _NAMES,
    figure(
        "effective_names",
        "Number of equally sized names that would be as concentrated.",
        "mean over sessions of (sum of |signed_notional|)^2 / sum of signed_notional^2",
        "Herfindahl (1950) and Hirschman (1945): the inverse of the sum of squared shares",
        unit=Unit.COUNT,
        minimum=1,
    ),
    _leg("long"),
    _leg("short"),
    figure(
        "pnl_of_neither",
        "P&L of names opened and closed within a session, which belongs to neither leg.",
        "sum of net_pnl of rows without a position at either close",
        unit=Unit.BASE_CURRENCY,
    ),
    model="Concentration",
    needs=("portfolio.ledger", "portfolio.positions", "portfolio.pnl"),
)
