"""Where the profit of a book comes from: its legs, days, weeks and names."""

from __future__ import annotations

from typing import Final

from schemas.metrics.families.family import Family, figure, of_the_run
from schemas.metrics.field import MetricField, block
from schemas.units import Unit

BEST: Final = 10
"""Days, weeks and names that count as the best."""
_PER_YEAR: Final = "per year"
_SHARES: Final = "Herfindahl (1950) and Hirschman (1945): the inverse of the sum of squared shares"


def _leg(name: str, side: str) -> MetricField:
    return block(
        name,
        f"The {side} positions: P&L of a name counts to the side it is held on at the close, or where it is closed flat, at the close before.",
        figure(
            "pnl",
            Unit.BASE_CURRENCY,
            "P&L after execution costs and borrow.",
            f"sum of net_pnl of names held {side}",
        ),
        figure(
            "annualised_return",
            Unit.RATIO,
            "That in parts of the book's equity, per year.",
            "mean of daily net_pnl of the leg / starting_equity x 252",
            unit_text=_PER_YEAR,
        ),
        figure(
            "sharpe",
            Unit.RATIO,
            "Mean over deviation of it, annualised.",
            "mean / deviation (ddof 1) of daily net_pnl of the leg / starting_equity x sqrt(252)",
        ),
        figure(
            "cost",
            Unit.RATIO,
            "Execution costs and borrow in parts of the book's equity, per year.",
            "mean of (market_pnl - net_pnl) of the leg / starting_equity x 252",
            unit_text=_PER_YEAR,
        ),
        figure(
            "exposure",
            Unit.RATIO,
            "Size of the leg at the close.",
            "mean of sum of |signed_notional| / ending_equity",
            minimum=0,
        ),
        figure(
            "names", Unit.COUNT, "Names held at the close.", "mean over sessions with positions", minimum=0
        ),
        nullable=True,
    )


CONCENTRATION: Final = Family(
    "concentration",
    "Legs of one book, and how much of its P&L comes from its best days, weeks and names.",
    of_the_run(
        "concentration",
        "Concentration of a book's profit, and the contribution of each leg.",
        figure(
            "best_days_share",
            Unit.RATIO,
            f"Share of the P&L that the {BEST} best days brought; above 1 where the others lost.",
            f"sum of the {BEST} highest daily changes of equity / change of equity over the run",
        ),
        figure(
            "best_weeks_share",
            Unit.RATIO,
            f"The same of the {BEST} best calendar weeks, Monday to Sunday.",
            f"sum of the {BEST} highest weekly changes of equity / change of equity over the run",
        ),
        figure(
            "best_names_share",
            Unit.RATIO,
            f"Share of the P&L of all names that the {BEST} best names brought.",
            f"sum of the {BEST} highest sums of net_pnl by name / sum of net_pnl",
        ),
        figure(
            "sharpe_without_best_days",
            Unit.RATIO,
            f"Sharpe ratio without the {BEST} days with the highest returns.",
            "mean / deviation (ddof 1) x sqrt(252) of the other daily returns",
        ),
        figure(
            "names", Unit.COUNT, "Names held at the close.", "mean over sessions with positions", minimum=0
        ),
        figure(
            "effective_names",
            Unit.COUNT,
            "As many names of equal size would be as concentrated.",
            "mean over sessions of (sum of |signed_notional|)^2 / sum of signed_notional^2",
            _SHARES,
            minimum=1,
        ),
        _leg("long", "long"),
        _leg("short", "short"),
        figure(
            "pnl_of_neither",
            Unit.BASE_CURRENCY,
            "P&L of names that were opened and closed within a session, which is of neither leg.",
            "sum of net_pnl of rows without a position at either close",
        ),
        model="Concentration",
    ),
    ("portfolio.ledger", "portfolio.positions", "portfolio.pnl"),
)
