"""Formatting of parameter values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Union

Value = Union[str, float, bool, dt.date, Sequence[str], None]


def format_value(value: Value) -> str:
    """Format a value of a parameter."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.date().isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, (str, int, float)):
        return str(value)
    return ",".join(value or ())
