"""Checks of the windows that analysts give."""

from __future__ import annotations

import datetime as dt

from datasets.figures.series import Window
from schemas.errors import SettingsError


def require_window(window: Window) -> Window:
    """Return a window of days, those of its instants; raises SettingsError for other ends, and for a first day after the last."""
    if not isinstance(window, Window):
        raise SettingsError(f"window={window!r}: give Window(first, last)")
    for name, end in (("first", window.first), ("last", window.last)):
        # The year of NaT, which is a datetime, is NaN.
        if not (end is None or (isinstance(end, dt.date) and isinstance(end.year, int))):
            raise SettingsError(f"{name}={end!r}: give a datetime.date, or None for an open end")
    # Bands depend on the text of the window, and the first session on the time of an instant.
    days = (end.date() if isinstance(end, dt.datetime) else end for end in (window.first, window.last))
    window = Window(*days)
    if window.is_empty:
        raise SettingsError(f"the first day, {window.first}, is after the last, {window.last}")
    return window
