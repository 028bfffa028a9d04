"""What a file of market data and a file of factors hold, and how benchmarks are called when the file does not say."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table
from schemas.units import Type, Unit

MARKET_DATA: Final = Table(
    name="market_data",
    meaning="One session of one benchmark.",
    columns=(
        Column("date", Type.DATE, Unit.DATE, "Trading session."),
        Column(
            "symbol",
            Type.STR,
            Unit.NONE,
            "Ticker; served in upper case, whatever the file has.",
            bound=Bound.TICKER,
        ),
        Column("close", Type.F64, Unit.PRICE, "Close, not adjusted.", bound=Bound.POSITIVE),
        Column(
            "adj_close",
            Type.F64,
            Unit.PRICE,
            "Close adjusted for splits and dividends; null where it is not known.",
            nullable=True,
            optional=True,
            bound=Bound.POSITIVE,
        ),
        Column(
            "name",
            Type.STR,
            Unit.NONE,
            "Readable name, the same on every row of a symbol; null where it is not stated.",
            nullable=True,
            optional=True,
            bound=Bound.NAME,
        ),
    ),
    key=("symbol", "date"),
    sort=("symbol", "date"),
    sealed=False,
    published=False,
)
"""Columns a market-data file may hold; others are ignored."""

SIMULATED_KEY: Final = "simulated"
"""Key of a Parquet file's metadata which, set to ``true``, says that its prices are invented."""

DEFAULT_NAMES: Final = {"SPY": "SPDR S&P 500 ETF Trust", "SIMSPY": "Simulated market index"}
"""Names of symbols whose file has no ``name`` column; any other symbol is then called by itself."""

SIMULATED_SYMBOLS: Final = frozenset({"SIMSPY"})
"""Symbols that are simulated whatever the metadata of their file says: the index of the reference engine."""

FACTORS: Final = Table(
    name="factors",
    meaning="The return of one factor on one day.",
    columns=(
        Column("date", Type.DATE, Unit.DATE, "Trading session."),
        Column("factor", Type.STR, Unit.NONE, "Name of the factor, such as `SMB`.", bound=Bound.TICKER),
        Column(
            "return",
            Type.F64,
            Unit.RATIO,
            "Return of the day, of a portfolio that needs no capital or less the risk-free return; 0.01 is one per cent.",
        ),
    ),
    key=("factor", "date"),
    sort=("factor", "date"),
    sealed=False,
    published=False,
)
"""Columns of a file of factors; others are ignored."""

MAX_FACTORS: Final = 20
"""Factors of a file at most: an alpha is explained by all of them at once."""
RISK_FREE_FACTOR: Final = "RF"
"""Name under which factor libraries list the risk-free rate, which is no factor."""
USUAL_BENCHMARK: Final = "SPY"
"""The benchmark that is meant where none is named."""
