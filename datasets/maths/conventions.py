"""The fixed numbers of the annual and of the tested figures, each named once."""

from __future__ import annotations

from typing import Final

SESSIONS_PER_YEAR: Final = 252
"""Trading sessions in a year, for figures annualised from daily series."""

WEEKS_PER_YEAR: Final = 52
"""Rebalances in a year, for figures annualised from weekly series."""

DAYS_PER_YEAR: Final = 365.25
"""Mean length of a calendar year, leap days included."""

MIN_HAC_OBSERVATIONS: Final = 10
"""Observations below which a Newey-West test is withheld."""
