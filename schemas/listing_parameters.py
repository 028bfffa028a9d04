"""Parameters of the screen of alphas besides search and paging: figures, order, bounds, tags and days."""

from __future__ import annotations

from typing import Final

from schemas.metrics.headline import HEADLINE
from schemas.parameters import Parameter, ParameterKind, choice, day, flag, number, text

LISTED_ORDERS: Final = ("alpha_id", "name", "started_at", "published_at")
"""Sort keys besides the figures."""
_LIST: Final = "; ".join(f"`{x.name}`: {x.meaning.removesuffix('.')}" for x in HEADLINE.values())

LISTING_PARAMETERS: Final = (
    Parameter(
        "fields",
        ParameterKind.NAMES,
        "Figures to add to each row as `figures`, equal to those of the run's metrics. `figures_checked` has the provenance of each, "
        "`withheld` the reason for each without a value, such as a figure that was sealed in another unit than the one given here. "
        f"They are {_LIST}.",
        choices=tuple(HEADLINE),
    ),
    choice(
        "sort",
        "Sort key, descending with a leading `-`. Alphas without a value come last in both directions, as do those whose figure is only "
        "stated, without support of a table; ties are sorted by address. By default the latest started first.",
        tuple(f"{sign}{name}" for name in (*LISTED_ORDERS, *HEADLINE) for sign in ("", "-")),
    ),
    flag(
        "checked_only",
        "Leave out alphas with a sealed figure that their tables contradict or do not support, and those whose run the key may not "
        "read.",
    ),
    text("tag", "Keep alphas whose written description has this tag, ignoring case.", minimum=1),
    *(
        day(f"{time}_{end}", f"{which} day (UTC) on which {event}, inclusive.")
        for time, event in (("started", "the run started"), ("published", "the snapshot was first served"))
        for end, which in (("from", "First"), ("to", "Last"))
    ),
    *(
        number(
            f"{end}_{name}",
            f"Keep alphas whose `{name}` is {words} this; those without a value, or whose value no table supports, are left out.",
        )
        for name in HEADLINE
        for end, words in (("min", "at least"), ("max", "at most"))
    ),
)
"""The last are `min_` and `max_` of every figure."""
