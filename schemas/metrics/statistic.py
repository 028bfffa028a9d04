"""Declarations of statistics, and the words that blocks of the metrics share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from schemas.tables.sealed_metrics import SEALED_SOURCE_KINDS


class Annualisation(StrEnum):
    """Whether a figure is scaled to a year."""

    ANNUALISED = "annualised"
    PER_PERIOD = "per_period"
    """Per week for a weekly figure, per session for a daily one."""
    NOT_ANNUALISABLE = "not_annualisable"
    """A total, an extreme or a share: it cannot be scaled to a year."""


class Signal(StrEnum):
    """Which of the run's two signals a figure measures."""

    CONDITIONED = "conditioned"
    """The smoothed score, which ranks the names and drives the books."""
    RAW = "raw"
    """The score before smoothing."""


class Status(StrEnum):
    """Whether a statistic has a value."""

    AVAILABLE = "available"
    NOT_MEASURABLE = "not_measurable"


class Checked(StrEnum):
    """Provenance of a served figure, by the reconciliation at publication."""

    REPRODUCED = "reproduced"
    COMPUTED = "computed"
    STATED = "stated"
    CONTRADICTED = "contradicted"


CHECKED_MEANINGS: Final[dict[str, str]] = {
    Checked.REPRODUCED: "Sealed, and the tables reproduce it by the API's definition, to 1e-6. The sealed digits are served.",
    Checked.COMPUTED: "Computed from the tables, since the run sealed none, or one by another convention, which is in `sealed_value`, "
    "`sealed_unit` and `sealed_convention`.",
    Checked.STATED: "Sealed, and no table supports it: the kind or column that it follows from was not sealed. Served as sealed with the "
    "notice `figure_stated`, and excluded from sorting, bounds and comparisons.",
    Checked.CONTRADICTED: "The tables contradict the sealed value, which is in `sealed_value`. The computed figure is served, or none, with "
    "the notice `figure_not_reproduced`.",
}


DERIVED: Final = "derived"
"""`source_kind` of a computed figure; a sealed one carries the kind it was sealed with."""
SOURCE_KINDS: Final = (*SEALED_SOURCE_KINDS, DERIVED)
COMPUTED: Final = "computed"
"""`source` of a test on a series rebuilt from the weekly cross-sections."""
PERIOD_SUM: Final = "period_sum"
"""Unit of a total over a span."""
MONEY_UNIT: Final = "ratio, or base_currency_units when the ledger is not normalised"


@dataclass(frozen=True, slots=True)
class Source:
    """Data from which figures are computed.

    Attributes
    ----------
    kind
        Kind it was sealed as; `source` of a figure computed from it.
    needs
        Kinds that the run must have sealed.
    endpoint
        Registry id of the endpoint that serves the same data: a key needs it for figures computed from them.
    meaning
        Name of the data in the documentation.
    """

    kind: str
    needs: tuple[str, ...]
    endpoint: str
    meaning: str


CROSS_SECTIONS: Final = Source(
    "decisions", ("decisions", "rebalances"), "signals.rebalances.get", "the weekly cross-sections"
)
LEDGER: Final = Source(
    "portfolio", ("portfolio",), "portfolio.ledger", "the daily ledger of the long_short book"
)
INDEX: Final = Source(
    "rebalances", ("rebalances",), "signals.rebalances.list", "the index of rebalance dates"
)
SOURCES: Final = (CROSS_SECTIONS, LEDGER, INDEX)


@dataclass(frozen=True, slots=True)
class SealedName:
    """A name under which an engine may have sealed a statistic.

    Attributes
    ----------
    name
        Name of the record.
    annualisation
        Annualisation of a record of that name; None if the record's own `annualised` flag and unit determine it.
    conventions
        Conventions of :mod:`pipeline.reconciliation.conventions` that are the API's definition, in one of its units; a
        value by another convention is not served.
    annualised_only
        Whether to ignore a record that is not annualised, because it is a different figure.
    """

    name: str
    annualisation: Annualisation | None
    conventions: tuple[str, ...]
    annualised_only: bool = False


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure with a value, a unit and a source.

    Attributes
    ----------
    name
        Key in its object.
    meaning, formula
        Description for the documents; computation from the tables.
    sealed
        Names of sealed records; the first one with a value is served.
    source
        Data from which it is computed if no record is served.
    unit
        Unit of the computed value: one of the sealed vocabulary, or :data:`MONEY_UNIT`.
    annualisation
        Annualisation of the computed value.
    horizon
        Span of time that one observation covers.
    signal
        Signal it measures; None outside the IC family.
    aliases
        Deprecated names, under which its entry is repeated.
    """

    name: str
    meaning: str
    formula: str
    sealed: tuple[SealedName, ...]
    source: Source
    unit: str
    annualisation: Annualisation
    horizon: str
    signal: Signal | None = None
    aliases: tuple[str, ...] = ()


SCORE_FIELD: Final = "raw_score"
"""Column measured by the statistics of the raw signal."""
UNSMOOTHED_FIELD: Final = "score"
"""Column measured instead in a run without smoothing that sealed only the score."""
FORWARD_RETURNS_PRESENT: Final = "present"
DAILY: Final = "daily"
FREQUENCIES: Final = ("weekly", DAILY)

WEEK_AHEAD: Final = "one rebalance period"
WINDOW: Final = "one value for the window"
ONCE: Final = "one value for the run, whatever the window"
STATED: Final = "as stated"
NO_SPAN: Final = "none"
