"""Parameters of the screen of alphas beyond search and paging: figures, order, bounds, tags and days."""

from __future__ import annotations

from typing import Final

from schemas.metrics.headline import HEADLINE
from schemas.parameters import Parameter, ParameterKind

LISTED_ORDERS: Final = ("alpha_id", "name", "started_at", "published_at")
"""What the list can be sorted by beside figures."""
_ORDERS: Final = (*LISTED_ORDERS, *HEADLINE)
_LIST: Final = ", ".join(f"`{figure.name}`: {figure.meaning}" for figure in HEADLINE.values())

LISTED_FIGURES: Final = Parameter(
    "fields",
    ParameterKind.NAMES,
    "Figures to add to each row as `figures`, with the reason in `withheld` for each that has no value; those of the metrics "
    "of the whole run, digit for digit; `figures_checked` says what each rests on. A figure that a run sealed in another unit than the one here is withheld, for it "
    f"does not compare. They are {_LIST}",
    choices=tuple(HEADLINE),
)
LISTED_SORT: Final = Parameter(
    "sort",
    ParameterKind.CHOICE,
    "What the list is ordered by, descending with `-` before it; what has no value comes last either way, and so does a "
    "figure that a run stated and no table supports; ties are ordered by address. Latest started first when left out.",
    choices=tuple(f"{sign}{name}" for name in _ORDERS for sign in ("", "-")),
)
CHECKED_ONLY: Final = Parameter(
    "checked_only",
    ParameterKind.BOOLEAN,
    "Leave out alphas that sealed a figure which their tables contradict or do not support, and those whose run the key may not read.",
    default=False,
)
TAG: Final = Parameter(
    "tag", ParameterKind.TEXT, "Keep alphas whose written description has this tag, letter case aside."
)
STARTED_FROM: Final = Parameter(
    "started_from", ParameterKind.DATE, "First day (UTC) on which the run was started, inclusive."
)
STARTED_TO: Final = Parameter("started_to", ParameterKind.DATE, "Last day of that, inclusive.")
PUBLISHED_FROM: Final = Parameter(
    "published_from",
    ParameterKind.DATE,
    "First day (UTC) on which the snapshot became the served one for the first time, inclusive.",
)
PUBLISHED_TO: Final = Parameter("published_to", ParameterKind.DATE, "Last day of that, inclusive.")


BOUNDS: Final = tuple(
    Parameter(
        f"{end}_{name}",
        ParameterKind.NUMBER,
        f"Keep alphas whose `{name}` is {words} this; one without a value, or that no table supports, is left out.",
    )
    for name in HEADLINE
    for end, words in (("min", "at least"), ("max", "at most"))
)
"""`min_` and `max_` of every figure."""
LISTING_PARAMETERS: Final = (
    LISTED_FIGURES,
    LISTED_SORT,
    CHECKED_ONLY,
    TAG,
    STARTED_FROM,
    STARTED_TO,
    PUBLISHED_FROM,
    PUBLISHED_TO,
    *BOUNDS,
)
