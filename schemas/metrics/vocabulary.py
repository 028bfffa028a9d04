"""Words that the declared blocks share."""

from __future__ import annotations

from typing import Final

SCORE_FIELD: Final = "raw_score"
"""The column that the raw family measures."""
UNSMOOTHED_FIELD: Final = "score"
"""The column it measures of a run that was not smoothed and sealed no other."""
FORWARD_RETURNS_PRESENT: Final = "present"
DAILY: Final = "daily"
FREQUENCIES: Final = ("weekly", DAILY)

WEEK_AHEAD: Final = "one rebalance period"
WINDOW: Final = "one value for the window"
ONCE: Final = "one value for the whole run, whatever the window"
STATED: Final = "as stated"
NO_SPAN: Final = "none"
