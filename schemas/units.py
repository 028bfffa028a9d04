"""Units and storage types of columns and figures."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What a number counts. Documents and Arrow field metadata show the value."""

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
    """Place in a cross-section, 1 the strongest; fractional where ties are averaged."""
    COUNT = "count"
    """A number of names, rows, sessions or weeks."""
    RATIO = "ratio"
    """A fraction: 0.01 is one per cent."""
    EQUITY = "equity units"
    """The ledger's own currency: a multiple of the opening equity when `equity_basis` is 1."""
    PERCENTAGE_POINTS = "percentage points"
    """1.0 is one per cent."""
    BASE_CURRENCY = "base currency"
    """Money, in the unit of the ledger."""
    PRICE = "base currency per share"
    """A price of one share."""
    SHARES = "shares"
    """A number of shares, fractional when the ledger is normalised."""
    CORRELATION = "correlation"
    """Between -1 and 1."""
    SECONDS = "seconds"
    """A span of time."""
    BYTES = "bytes"
    """The size of a file."""
    CALLS = "calls"
    """Requests counted by the limiter."""
    BARS = "bars"
    """Price bars of the granularity named beside it."""
    MIXED = "see the `unit` column"
    """A value whose unit stands in a column beside it."""


class Type(StrEnum):
    """How a column is stored."""

    DATE = "date"
    TIMESTAMP = "timestamp[us, UTC]"
    F64 = "double"
    I64 = "int64"
    BOOL = "bool"
    STR = "string"
