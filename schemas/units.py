"""Units and storage types of columns and figures."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """Unit of a number, as shown in documents and Arrow field metadata."""

    NONE = "none"
    """An identifier, a code, a flag or free text."""
    DATE = "date"
    """A calendar day of the exchange."""
    INSTANT = "utc instant"
    """A moment, in UTC."""
    SCORE = "score units"
    """The alpha's own scale; not comparable between alphas."""
    STDEV = "standard deviations"
    """Distance from the cross-section's mean in population standard deviations."""
    RANK = "rank"
    """Rank in a cross-section, 1 the strongest; fractional if ties are averaged."""
    COUNT = "count"
    """A number of names, rows, sessions or weeks."""
    RATIO = "ratio"
    """A fraction: 0.01 is one per cent."""
    EQUITY = "equity units"
    """Money in the unit of the ledger: a multiple of the opening equity if `equity_basis` is 1."""
    PERCENTAGE_POINTS = "percentage points"
    """1.0 is one per cent."""
    BASE_CURRENCY = "base currency"
    """Money, in the unit of the ledger."""
    PRICE = "base currency per share"
    """A price of one share."""
    SHARES = "shares"
    """A number of shares, fractional if the ledger is normalised."""
    CORRELATION = "correlation"
    """Between -1 and 1."""
    SECONDS = "seconds"
    """A span of time."""
    BYTES = "bytes"
    """The size of a file."""
    CALLS = "calls"
    """Requests counted by the limiter."""
    BARS = "bars"
    """Price bars of the stated granularity."""
    MIXED = "see the `unit` column"
    """A value whose unit is in another column."""


class Type(StrEnum):
    """Storage type of a column."""

    DATE = "date"
    TIMESTAMP = "timestamp[us, UTC]"
    F64 = "double"
    I64 = "int64"
    BOOL = "bool"
    STR = "string"
