"""The payload of the metrics as one tree of fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from schemas.field import Field, count, day, figure, flag, integer, mapping, number, record, series, text
from schemas.metrics.checked import CHECKED
from schemas.metrics.core import CORE, RANK_IC
from schemas.metrics.deciles import DECILES
from schemas.metrics.entry import statistic_field
from schemas.metrics.newey_west import NWT, NWT_WITHIN
from schemas.metrics.panel import PANEL
from schemas.metrics.statistic import (
    CROSS_SECTIONS,
    INDEX,
    LEDGER,
    NO_SPAN,
    ONCE,
    STATED,
    WEEK_AHEAD,
    WINDOW,
    Signal,
    Statistic,
)
from schemas.parameters import GRANULARITY
from schemas.units import Unit

_SEE_STATISTICS: Final = "see each statistic"
_SEALED_FIRST: Final = "sealed records first, computed figures second"
_MANIFEST: Final = "the manifest of the seal"
_RUN_TRAITS: Final = {"horizon": "the run", "granularity": "one value for the run"}

_DOC_ENTRY: Final = record(
    "",
    "One field of the payload.",
    text("meaning", "Meaning of the field."),
    text("formula", "How it is computed."),
    text("horizon", "Span of time that one observation covers."),
    text("granularity", "How many values there are: one for the run, one a week, and so on."),
    text("source", "Where it comes from."),
    text("unit", "What a number counts; a served entry has its own unit, which takes precedence."),
    text("signal", "Which of the two signals is measured; on the IC family only.", optional=True),
    text("availability", "When a block is present; on blocks that may be missing.", optional=True),
    model="MetricsDocEntry",
)

METRICS_DOC: Final = record(
    "metrics_doc",
    "Definition of every figure of the metrics; the same for every alpha and every key.",
    text("schema_version", "Version of the structure of this block."),
    mapping("endpoint", "How to request and read the metrics, by topic.", text("", "Prose.")),
    mapping("fields", "Path in the payload to its field; `[]` marks the entries of a list.", _DOC_ENTRY),
    mapping("warnings", "Warning code to its meaning.", text("", "The meaning.")),
    model="MetricsDoc",
)
"""The shape of the documentation block."""


def _entries(statistics: Iterable[Statistic], *, computed: bool = False) -> tuple[Field, ...]:
    """Declare the entries of statistics, each followed by its deprecated names.

    Parameters
    ----------
    computed
        Whether to ignore sealed figures.
    """
    return tuple(
        statistic_field(statistic, alias=alias, computed=computed)
        for statistic in statistics
        for alias in (None, *statistic.aliases)
    )


_TENURE: Final = record(
    "tenure",
    "Length of the record.",
    count("weeks", "Rebalance dates, also pending and skipped ones; null from the ledger.", nullable=True),
    count("traded_weeks", "Rebalance dates with status traded; null from the ledger.", nullable=True),
    day("first_rebalance", "First rebalance date; first session from the ledger."),
    day("last_rebalance", "Last rebalance date; last session from the ledger."),
    integer("calendar_days", "days", "Days from the first to the last."),
    number("years", "years", "The same in years.", "calendar_days / 365.25", minimum=0),
    text("source", "Where the dates come from.", vocabulary=(INDEX.kind, LEDGER.kind)),
    formula="counted from the dates of the window",
    horizon="the window",
    granularity=WINDOW,
    source=f"{INDEX.meaning}; {LEDGER.meaning} when the run sealed no rebalances",
    nullable=True,
)

_CORE: Final = record(
    "core",
    "The headline statistics, always of the long_short book.",
    *_entries(CORE),
    _TENURE,
    formula=_SEE_STATISTICS,
    horizon=_SEE_STATISTICS,
    granularity=ONCE,
    source=_SEALED_FIRST,
)


def _rank_ic(*, computed: bool = False, **traits: str) -> Field:
    return record(
        "rank_ic",
        "Statistics of the weekly information coefficient, of the delivered score and of the score before smoothing.",
        *(
            record(
                signal,
                f"Statistics of the {signal} signal.",
                *_entries(statistics, computed=computed),
                signal=signal,
            )
            for signal, statistics in RANK_IC.items()
        ),
        formula=_SEE_STATISTICS,
        horizon=WEEK_AHEAD,
        nullable=True,
        **traits,
    )


_RANK_IC: Final = _rank_ic(
    granularity=ONCE,
    source=_SEALED_FIRST,
    availability=f"null when none of it was sealed and {CROSS_SECTIONS.meaning} are absent or closed to the key",
)

_PROCESSING: Final = record(
    "signal_processing",
    "How the delivered signal was made from the raw one.",
    text("signal", "The signal after processing.", vocabulary=(Signal.CONDITIONED,)),
    flag("smoothing_applied", "Whether the score is smoothed over weeks."),
    figure("smoothing_half_life_weeks", "Its half-life; null without raw-book access.", unit="weeks"),
    text("detail", "The smoothing in words; null without raw-book access.", nullable=True),
    formula=STATED,
    source=_MANIFEST,
    availability="null when the run made no statement about smoothing",
    nullable=True,
    **_RUN_TRAITS,
)


def _periods(*, computed: bool = False, **traits: str) -> Field:
    return series(
        "periods",
        "The core statistics of each calendar year or month that overlaps the window.",
        text("period", "The year (2020) or month (2020-03).", pattern="^[0-9]{4}(-[0-9]{2})?$"),
        record("core", "The statistics of the period; it has no tenure.", *_entries(CORE, computed=computed)),
        formula=_SEE_STATISTICS,
        horizon="the year or month",
        availability="null when granularity is overall",
        nullable=True,
        **traits,
    )


_WITHIN_WINDOW: Final = record(
    "within_window",
    "Figures of the window, computed from its rows, with the names and definitions of the blocks that describe the run. All other "
    "blocks follow the window themselves.",
    record(
        "core",
        "The headline statistics of the window, of the long_short book; its tenure is core.tenure.",
        *_entries(CORE, computed=True),
    ),
    _rank_ic(
        computed=True, availability=f"null when {CROSS_SECTIONS.meaning} are absent or closed to the key"
    ),
    NWT_WITHIN,
    _periods(computed=True, granularity="one value a year or month, for its days inside the window"),
    formula=_SEE_STATISTICS,
    horizon=_SEE_STATISTICS,
    granularity=WINDOW,
    source="computed from the data of the window",
    availability="null when no window is requested",
    nullable=True,
)

METRICS: Final = record(
    "metrics",
    "Performance and signal quality of one run.",
    text("granularity", "Length of `periods`.", vocabulary=GRANULARITY.choices),
    CHECKED,
    record(
        "window",
        "The days requested; null at an end that was left open.",
        day("from", "First day, inclusive.", nullable=True),
        day("to", "Last day, inclusive.", nullable=True),
    ),
    figure(
        "sessions_per_year",
        "Sessions a year in the ledger's own calendar; daily figures are annualised by 252 regardless. Null without a ledger that "
        "the key may read, or with one of fewer than 90 days.",
        "sessions after the first / calendar_days from the first to the last x 365.25",
        unit=Unit.COUNT,
        source=LEDGER.meaning,
        **_RUN_TRAITS,
    ),
    _CORE,
    _RANK_IC,
    _PROCESSING,
    _periods(
        granularity="one value a year or month; computed ones for its part inside the window",
        source="sealed records of the year or month first, computed figures second",
    ),
    _WITHIN_WINDOW,
    DECILES,
    NWT,
    PANEL,
    replace(METRICS_DOC, name="doc", meaning="This documentation; only with doc=1.", optional=True),
    text("doc_url", "Path of this documentation."),
    text("alpha", "Address of the alpha served, equal to meta.run.", source=_MANIFEST),
    text("alpha_id", "Id of the run in research.", source=_MANIFEST),
    formula=STATED,
    horizon=NO_SPAN,
    granularity="one value an answer",
    source="the request",
    model="Metrics",
)
