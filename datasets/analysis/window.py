"""Checks of the windows that analysts give."""

from __future__ import annotations

import datetime as dt

from datasets.figures.series import Window
from schemas.errors import SettingsError


def require_window(window: Window) -> Window:
    """Return a window of days; raises SettingsError for other ends, and for a first day after the last."""
    if not isinstance(window, Window):
        raise SettingsError(f"window={window!r}: give Window(first, last)")
    for name, end in (("first", window.first), ("last", window.last)):
        if not (end is None or isinstance(end, dt.date)):
            raise SettingsError(f"{name}={end!r}: give a datetime.date, or None for an open end")
    if window.first is not None and window.last is not None and window.first > window.last:
        raise SettingsError(f"the first day, {window.first}, is after the last, {window.last}")
    return window
