"""Notices from comparisons at publication: with other runs of the catalogue, and with earlier seals of the alpha."""

from __future__ import annotations

from typing import Final

from schemas.notices.notice import Notice

MIN_OTHER_RUNS: Final = 3
"""Minimum number of other runs that must agree to contradict a run."""
MAX_OTHER_RUNS: Final = 32
"""Maximum number of other runs compared in a build."""
TOO_FEW_OTHERS: Final = (
    f"fewer than {MIN_OTHER_RUNS} other runs of the catalogue hold the same names and sessions"
)
"""Reason why a run is not compared with others; also shown to a caller who may read none of the compared runs."""
MIN_SHARED_CELLS: Final = 20
"""Minimum number of name-sessions that the runs must share."""
MIN_NAME_CELLS: Final = 8
"""Minimum number of sessions of one name that the runs must share."""
CELL_TOLERANCE: Final = 0.002
"""Difference of returns that rounding or another data vendor explains."""

_CONTRADICTED: Final = f"differs by more than {CELL_TOLERANCE:g} from the median of at least {MIN_OTHER_RUNS} other runs, most of which agree"

CATALOGUE_NOTICES: Final = (
    Notice(
        "catalogue.prices",
        "Other runs have other prices for the same names and sessions.",
        0.05,
        f"share of common names and sessions whose return from close to close, or to the mid of a fill at the same time, {_CONTRADICTED}",
        "different adjustments for splits and dividends affect one session in 50",
        figure="contradicted_prices",
    ),
    Notice(
        "catalogue.one_name",
        "Other runs have other prices for one name in most sessions.",
        0.5,
        f"largest share, of the names with {MIN_NAME_CELLS} common sessions or more, of returns that other runs contradict, as in catalogue.prices",
        "a different adjustment for dividends or splits affects some sessions of a name; a forged price, or another company, affects most",
        figure="contradicted_prices_of_a_name",
    ),
    Notice(
        "catalogue.forward_returns",
        "Other runs have other forward returns for the same names and weeks.",
        0.05,
        f"share of common names and weeks whose forward_return between the same times {_CONTRADICTED}",
        "as for catalogue.prices",
        figure="contradicted_forward_returns",
    ),
    Notice(
        "history.restated",
        "The seal differs from an earlier seal of the alpha in weeks of that seal: the past was rewritten.",
        0.0,
        "highest number of weeks, of any earlier seal, whose scores, targets, forward returns or fills differ, or that were removed or inserted "
        "between others; not counting targets of the last week, and forward returns and fills of the last two, which were not final",
        "past signals of a live alpha do not change, unless data are corrected or the method changes",
        "weeks",
        figure="restated_weeks",
    ),
)
