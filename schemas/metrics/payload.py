"""The whole payload of the metrics resource as one tree of fields."""

from __future__ import annotations

from typing import Final

from schemas.field import FieldType
from schemas.metrics.core import ALIASES, CORE, RANK_IC
from schemas.metrics.deciles import DECILES
from schemas.metrics.doc_block import METRICS_DOC
from schemas.metrics.entry import statistic_field
from schemas.metrics.field import MetricField, block, count, day, flag, number, series, text
from schemas.metrics.newey_west import NWT
from schemas.metrics.panel import PANEL
from schemas.metrics.statistic import CROSS_SECTIONS, INDEX, LEDGER, Signal
from schemas.metrics.vocabulary import NO_SPAN, ONCE, STATED, WEEK_AHEAD, WINDOW
from schemas.parameters import GRANULARITY
from schemas.units import Unit

_EACH: Final = "see each statistic"
_SEALED_FIRST: Final = "sealed records first, computed figures second"
_MANIFEST: Final = "the manifest of the seal"


def _core_entries() -> tuple[MetricField, ...]:
    entries: list[MetricField] = []
    for statistic in CORE:
        entries.append(statistic_field(statistic))
        entries.extend(
            statistic_field(statistic, alias=old) for old, new in ALIASES.items() if new == statistic.name
        )
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
    *_core_entries(),
    _TENURE,
    formula=_EACH,
    horizon=_EACH,
    granularity=ONCE,
    source=_SEALED_FIRST,
)

_RANK_IC: Final = block(
    "rank_ic",
    "How the weekly information coefficient behaves, of the delivered score and of the score before smoothing.",
    *(
        block(
            signal,
            f"Statistics of the {signal} signal.",
            *(statistic_field(statistic) for statistic in statistics),
            signal=signal,
        )
        for signal, statistics in RANK_IC.items()
    ),
    formula=_EACH,
    horizon=WEEK_AHEAD,
    granularity=ONCE,
    source=_SEALED_FIRST,
    availability=f"null when nothing of it was sealed and {CROSS_SECTIONS.meaning} are absent or closed to the key",
    nullable=True,
)

_PROCESSING: Final = block(
    "signal_processing",
    "What was done to the raw signal to make the delivered one.",
    text("signal", "The signal that comes out of the processing.", Signal.CONDITIONED),
    flag("smoothing_applied", "Whether the score is smoothed over weeks."),
    number(
        "smoothing_half_life_weeks",
        Unit.NONE,
        "Half-life of the smoothing.",
        nullable=True,
        unit_text="weeks",
    ),
    text("detail", "The smoothing in words.", nullable=True),
    formula=STATED,
    horizon="the whole run",
    granularity="one value for the whole run",
    source=_MANIFEST,
    availability="null when the run stated nothing about smoothing",
    nullable=True,
)

_PERIODS: Final = series(
    "periods",
    "The core statistics of each calendar year or month that the window touches.",
    text("period", "The year (2020) or month (2020-03).", pattern="^[0-9]{4}(-[0-9]{2})?$"),
    block("core", "The statistics of the period; it has no tenure.", *_core_entries()),
    formula=_EACH,
    horizon="the year or month",
    granularity="one value a year or month; computed ones for its part inside the window",
    source="sealed records of the year or month first, computed figures second",
    availability="null when granularity is overall",
    nullable=True,
)

METRICS: Final = block(
    "metrics",
    "Performance and signal quality of one run.",
    text(
        "granularity",
        "How far `periods` breaks the statistics down.",
        *(value for _, value in GRANULARITY.choices),
    ),
    block(
        "window",
        "The days asked for; null at an end that was left open.",
        day("from", "First day, inclusive.", nullable=True),
        day("to", "Last day, inclusive.", nullable=True),
    ),
    _CORE,
    _RANK_IC,
    _PROCESSING,
    _PERIODS,
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
