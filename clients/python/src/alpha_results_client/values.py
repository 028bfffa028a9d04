"""Formatting of parameter values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Integral
from typing import Any, Optional, Union

from alpha_results_client.errors import AlphaResultsClientError

Value = Union[str, float, bool, dt.date, Sequence[str], Sequence[float], None]
Query = Mapping[str, Optional[str]]
"""Formatted parameters; None for those that are left out."""


def format_value(name: str, value: Value) -> str | None:
    """Format the value of a parameter: one value, or a list of values; None if it is left out.

    Scalars of NumPy and pandas count as those of Python, and an instant as its day.

    Raises
    ------
    AlphaResultsClientError
        If the API takes no such value; the message begins with `name`.
    """
    if value is None:
        return None
    is_list = hasattr(value, "__iter__") and not isinstance(value, (str, bytes, Mapping))
    # A scalar of NumPy has an empty shape; any other iterable is a list, a column of a frame, too.
    entries = value if is_list and getattr(value, "shape", None) != () else [value]
    return ",".join(_format_scalar(name, entry) for entry in entries)  # type: ignore[union-attr]


def _format_scalar(name: str, value: Any) -> str:
    # NumPy need not be installed, so its scalars are recognised by what they have.
    numpy_kind = value.dtype.kind if getattr(value, "shape", None) == () else ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or numpy_kind == "b":
        return "true" if value else "false"
    if isinstance(value, dt.date) or numpy_kind == "M":
        return _format_day(name, str(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, (float, Decimal)) or numpy_kind == "f":
        number = Decimal(str(value))
        if number.is_nan():  # sent as text, a gap in a column of tickers would be the ticker "NaN"
            raise AlphaResultsClientError(
                f"{name} must be without NaN, a missing value: drop it, or leave {name} out"
            )
        return format(number, "f")  # the service reads weights without an exponent
    raise AlphaResultsClientError(
        f"{name} must be a text, a number, a bool or a day, or a list of them; {type(value).__name__} is none of these"
    )


def _format_day(name: str, text: str) -> str:
    """Return the day of a date or an instant; `NaT` and months of NumPy name none."""
    try:
        return dt.date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        raise AlphaResultsClientError(f"{name} must be a day such as 2024-01-31, not {text}") from None
