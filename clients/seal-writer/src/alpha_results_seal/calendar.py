"""Trading calendars."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.errors import SealError

_CLOCK = re.compile(r"([01]\d|2[0-4]):([0-5]\d)")


@dataclass(frozen=True)
class Calendar:
    """The sessions of an exchange and their hours.

    Attributes
    ----------
    zone
        Time zone, such as ``America/New_York``.
    open, close
        Local times of the open and of the close, ``09:30``; ``24:00`` is midnight at the end of the day.
    sessions
        Trading days; by default the days that have a price. Days after the last price determine when a pending decision
        will be filled.

    Raises
    ------
    SealError
        If a time does not have the form ``HH:MM``, or the close does not follow the open.
    """

    zone: str
    open: str
    close: str
    sessions: Sequence[dt.date] | None = None

    def __post_init__(self) -> None:
        if _minutes(self.open) >= _minutes(self.close):
            raise SealError(f"the close {self.close} does not follow the open {self.open}.")

    def opens(self, days: Any) -> pl.Series:
        """Return the instants of the opens of some days, in UTC."""
        return self._instants(days, self.open)

    def closes(self, days: Any) -> pl.Series:
        """Return the instants of the closes of some days, in UTC; midnight is the last microsecond of its day, on which fills are dated."""
        instants = self._instants(days, self.close)
        at_midnight = instants == instants.dt.truncate("1d")
        return instants - at_midnight.cast(pl.Int64).cast(pl.Duration("us"))

    def _instants(self, days: Any, clock: str) -> pl.Series:
        begins = pl.Series(
            np.asarray(days, "datetime64[D]").astype("datetime64[us]"), dtype=pl.Datetime("us")
        )
        local = begins + dt.timedelta(minutes=_minutes(clock))
        try:
            instants = local.dt.replace_time_zone(self.zone).dt.convert_time_zone("UTC")
        except pl.exceptions.PolarsError as error:
            raise SealError(
                f"the calendar's {clock} in {self.zone!r} is not a valid time: {str(error).splitlines()[0]}"
            ) from error
        naive, ends = instants.dt.replace_time_zone(None), begins + dt.timedelta(days=1)
        late = naive > ends if clock == self.close else naive >= ends
        if ((naive < begins) | late).any():
            raise SealError(
                f"{clock} in {self.zone} is on another day in UTC, and a session's hours are on its date in UTC: "
                "give hours in UTC, within the day, such as Calendar('UTC', '00:00', '06:00')."
            )
        return instants


def _minutes(clock: str) -> int:
    match = _CLOCK.fullmatch(str(clock))
    if match is None or int(match[1]) * 60 + int(match[2]) > 24 * 60:
        raise SealError(f"{clock!r} is not a time of day: write HH:MM, such as 09:30.")
    return int(match[1]) * 60 + int(match[2])


NEW_YORK = Calendar("America/New_York", "09:30", "16:00")
"""The default calendar."""
