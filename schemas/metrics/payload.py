"""The payload of the metrics resource as one tree of fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schemas.field import FieldType, mapping, record
from schemas.field import text as plain_text
from schemas.metrics.checked import CHECKED
from schemas.metrics.core import ALIASES, CORE, RANK_IC
from schemas.metrics.deciles import DECILES
from schemas.metrics.entry import statistic_field
from schemas.metrics.field import MetricField, block, count, day, flag, number, series, text
from schemas.metrics.newey_west import NWT, NWT_WITHIN
from schemas.metrics.panel import PANEL
from schemas.metrics.statistic import CROSS_SECTIONS, INDEX, LEDGER, Signal, Statistic
from schemas.metrics.vocabulary import NO_SPAN, ONCE, STATED, WEEK_AHEAD, WINDOW
from schemas.parameters import GRANULARITY
from schemas.units import Unit

_EACH: Final = "see each statistic"
_SEALED_FIRST: Final = "sealed records first, computed figures second"
_MANIFEST: Final = "the manifest of the seal"


_DOC_ENTRY: Final = record(
    "",
    "What one field of the payload is.",
    plain_text("meaning", "What it says."),
    plain_text("formula", "How it is computed."),
    plain_text("horizon", "Span of time that one observation covers."),
    plain_text("granularity", "What there is one value of."),
    plain_text("source", "Where it comes from."),
    plain_text("unit", "What a number counts; the unit on a served entry is the one that counts."),
    plain_text("signal", "Which of the two signals is measured; on the IC family only.", optional=True),
    plain_text("availability", "When a block is there at all; on blocks that may be missing.", optional=True),
    model="MetricsDocEntry",
)

METRICS_DOC: Final = record(
    "metrics_doc",
    "What every figure of the metrics means. The same for every alpha and every key.",
    plain_text("schema_version", "Version of the structure of this block."),
    mapping("endpoint", "How to ask and how to read the answer, topic by topic.", plain_text("", "Prose.")),
    mapping(
        "fields", "Path in the payload to what stands there; `[]` marks the entries of a list.", _DOC_ENTRY
    ),
    mapping("warnings", "Warning code to its meaning.", plain_text("", "The meaning.")),
    model="MetricsDoc",
)
"""The shape of the documentation block."""


def _entries(statistics: Iterable[Statistic], *, computed: bool = False) -> tuple[MetricField, ...]:
    """Declare the entries of statistics, deprecated names beside the ones they repeat.

    Parameters
    ----------
    computed
        Whether what the run sealed is left aside.
    """
    entries: list[MetricField] = []
    for statistic in statistics:
        names = [None, *(old for old, new in ALIASES.items() if statistic in CORE and new == statistic.name)]
        entries += (statistic_field(statistic, alias=alias, computed=computed) for alias in names)
    return tuple(entries)


_TENURE: Final = block(
    "tenure",
    "How long the record is.",
    count(
        "weeks", "Rebalance dates, pending and skipped ones included; null from the ledger.", nullable=True
    ),
    count("traded_weeks", "Rebalance dates with status traded; null from the ledger.", nullable=True),
    day("first_rebalance", "First rebalance date; first session from the ledger."),
    day("last_rebalance", "Last rebalance date; last session from the ledger."),
    count("calendar_days", "Days from the first to the last.", unit_text="days"),
    number("years", Unit.NONE, "The same in years.", "calendar_days / 365.25", unit_text="years", minimum=0),
    text("source", "Where the dates come from.", INDEX.kind, LEDGER.kind),
    formula="counted from the dates of the window",
    horizon="the window",
    granularity=WINDOW,
    source=f"{INDEX.meaning}; {LEDGER.meaning} when the run sealed no rebalances",
    nullable=True,
)

_CORE: Final = block(
    "core",
    "The headline statistics, always of the long_short book.",
    *_entries(CORE),
    _TENURE,
    formula=_EACH,
    horizon=_EACH,
    granularity=ONCE,
    source=_SEALED_FIRST,
)


def _rank_ic(*, computed: bool = False, **traits: str) -> MetricField:
    return block(
        "rank_ic",
        "How the weekly information coefficient behaves, of the delivered score and of the score before smoothing.",
        *(
            block(
                signal,
                f"Statistics of the {signal} signal.",
                *_entries(statistics, computed=computed),
                signal=signal,
            )
            for signal, statistics in RANK_IC.items()
        ),
        formula=_EACH,
        horizon=WEEK_AHEAD,
        nullable=True,
        **traits,
    )


_RANK_IC: Final = _rank_ic(
    granularity=ONCE,
    source=_SEALED_FIRST,
    availability=f"null when none of it was sealed and {CROSS_SECTIONS.meaning} are absent or closed to the key",
)

_PROCESSING: Final = block(
    "signal_processing",
    "What was done to the raw signal to make the delivered one.",
    text("signal", "The signal that comes out of the processing.", Signal.CONDITIONED),
    flag("smoothing_applied", "Whether the score is smoothed over weeks."),
    number(
        "smoothing_half_life_weeks",
        Unit.NONE,
        "Half-life of the smoothing; null without raw-book access.",
        nullable=True,
        unit_text="weeks",
    ),
    text("detail", "The smoothing in words; null without raw-book access.", nullable=True),
    formula=STATED,
    horizon="the whole run",
    granularity="one value for the whole run",
    source=_MANIFEST,
    availability="null when the run made no statement about smoothing",
    nullable=True,
)


def _periods(*, computed: bool = False, **traits: str) -> MetricField:
    return series(
        "periods",
        "The core statistics of each calendar year or month that the window touches.",
        text("period", "The year (2020) or month (2020-03).", pattern="^[0-9]{4}(-[0-9]{2})?$"),
        block("core", "The statistics of the period; it has no tenure.", *_entries(CORE, computed=computed)),
        formula=_EACH,
        horizon="the year or month",
        availability="null when granularity is overall",
        nullable=True,
        **traits,
    )


_WITHIN: Final = block(
    "within_window",
    "The figures of the window alone, under the names and definitions that the blocks of the same names have for the whole run: "
    "computed from its rows, whatever the run sealed. What else narrows does so in its own place.",
    block(
        "core",
        "The headline statistics of the window, of the long_short book; its tenure is core.tenure.",
        *_entries(CORE, computed=True),
    ),
    _rank_ic(
        computed=True, availability=f"null when {CROSS_SECTIONS.meaning} are absent or closed to the key"
    ),
    NWT_WITHIN,
    _periods(computed=True, granularity="one value a year or month, for its days inside the window"),
    formula=_EACH,
    horizon=_EACH,
    granularity=WINDOW,
    source="computed from the data of the window",
    availability="null when no window is requested",
    nullable=True,
)

METRICS: Final = block(
    "metrics",
    "Performance and signal quality of one run.",
    text(
        "granularity",
        "How far `periods` breaks the statistics down.",
        *GRANULARITY.choices,
    ),
    CHECKED,
    block(
        "window",
        "The days requested; null at an end that was left open.",
        day("from", "First day, inclusive.", nullable=True),
        day("to", "Last day, inclusive.", nullable=True),
    ),
    number(
        "sessions_per_year",
        Unit.COUNT,
        "Sessions of the run in a year of its ledger's own calendar; daily figures are annualised by 252 whatever it is. Null "
        "without a ledger that the key may read, or with one of fewer than 90 days.",
        "sessions after the first / calendar_days from the first to the last x 365.25",
        nullable=True,
        horizon="the whole run",
        granularity="one value for the whole run",
        source=LEDGER.meaning,
    ),
    _CORE,
    _RANK_IC,
    _PROCESSING,
    _periods(
        granularity="one value a year or month; computed ones for its part inside the window",
        source="sealed records of the year or month first, computed figures second",
    ),
    _WITHIN,
    DECILES,
    NWT,
    PANEL,
    # Its members carry no traits: the documentation does not document itself.
    MetricField(
        "doc",
        FieldType.OBJECT,
        "This documentation; only with doc=1.",
        fields=METRICS_DOC.fields,
        optional=True,
        model=METRICS_DOC.model,
    ),
    text("doc_url", "Path of this documentation."),
    text("alpha", "Address of the alpha served, the same as meta.run.", source=_MANIFEST),
    text("alpha_id", "Id the run has in research.", source=_MANIFEST),
    formula=STATED,
    horizon=NO_SPAN,
    granularity="one value an answer",
    source="the request",
    model="Metrics",
)
"""The payload, from the root."""
