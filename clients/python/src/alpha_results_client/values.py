"""Formatting of parameter values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Union

Value = Union[str, float, bool, dt.date, Sequence[str], Sequence[float], None]


def format_value(value: Value) -> str:
    """Format a value of a parameter."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.date().isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float):
        return format(Decimal(str(value)), "f")  # the service reads weights without an exponent
    if isinstance(value, (str, int)):
        return str(value)
    # A column of a frame has no truth value.
    return ",".join(format_value(entry) for entry in (() if value is None else value))
