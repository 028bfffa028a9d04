"""Columns of market-data and factor files, and default names of benchmarks."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, day, number, text
from schemas.units import Unit

MARKET_DATA: Final = Table(
    name="market_data",
    meaning="One session of one benchmark.",
    columns=(
        day("date", "Trading session."),
        text("symbol", "Ticker; served in upper case.", bound=Bound.TICKER),
        number("close", Unit.PRICE, "Close, not adjusted.", bound=Bound.POSITIVE),
        number(
            "adj_close",
            Unit.PRICE,
            "Close adjusted for splits and dividends; null if unknown.",
            nullable=True,
            optional=True,
            bound=Bound.POSITIVE,
        ),
        text(
            "name",
            "Readable name, the same on every row of a symbol; null if unknown.",
            nullable=True,
            optional=True,
            bound=Bound.NAME,
        ),
    ),
    key=("symbol", "date"),
    sealed=False,
    published=False,
)
"""Columns of a market-data file; others are ignored."""

PRICES: Final = Table(
    name="prices",
    meaning="One session of one name of a run's universe.",
    key=MARKET_DATA.key,
    columns=(
        *(column for column in MARKET_DATA if column.name != "name"),
        number(
            "open",
            Unit.PRICE,
            "Open, on the basis of the close; null if unknown.",
            nullable=True,
            optional=True,
            bound=Bound.POSITIVE,
        ),
    ),
    sealed=False,
    published=False,
)
"""Columns of a file of market prices that runs are compared with; others are ignored."""

SIMULATED_KEY: Final = "simulated"
"""Metadata key of a Parquet file; ``true`` marks its prices as simulated."""

DEFAULT_NAMES: Final = {"SPY": "SPDR S&P 500 ETF Trust", "SIMSPY": "Simulated market index"}
"""Names of symbols whose file has no ``name`` column; other symbols are their own names."""

SIMULATED_SYMBOLS: Final = frozenset({"SIMSPY"})
"""Symbols that are always simulated: the index of the reference engine."""

FACTORS: Final = Table(
    name="factors",
    meaning="The return of one factor on one day.",
    columns=(
        day("date", "Trading session."),
        text("factor", "Name of the factor, such as `SMB`.", bound=Bound.TICKER),
        number(
            "return",
            Unit.RATIO,
            "Daily return of a self-financing portfolio, or in excess of the risk-free return; 0.01 is one per cent.",
        ),
    ),
    key=("factor", "date"),
    sealed=False,
    published=False,
)
"""Columns of a factor file; others are ignored."""

MAX_FACTORS: Final = 20
"""Maximum number of factors in a file, since alphas are regressed on all of them together."""
RISK_FREE_FACTOR: Final = "RF"
"""Name of the risk-free rate in factor libraries, which is not a factor."""
USUAL_BENCHMARK: Final = "SPY"
"""Default benchmark."""
