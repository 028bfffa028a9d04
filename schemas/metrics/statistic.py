"""Declarations of statistics: definition, source, unit and sealed names."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Annualisation(StrEnum):
    """Whether a figure is scaled to a year."""

    ANNUALISED = "annualised"
    PER_PERIOD = "per_period"
    """Per week for what is measured weekly, per session for what is measured daily."""
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
    """What a served figure rests on, by the reconciliation at publication."""

    REPRODUCED = "reproduced"
    """The run sealed it, and its tables give the same by the interface's definition."""
    COMPUTED = "computed"
    """Computed from the tables: the run sealed none, or one by another convention, which stands beside it."""
    STATED = "stated"
    """The run sealed it, and no table supports it. It takes no part in sorts, bounds and comparisons."""
    CONTRADICTED = "contradicted"
    """The tables contradict what the run sealed: the figure computed from them is served, or none."""


DERIVED: Final = "derived"
"""`source_kind` of a computed figure; a sealed one carries the kind it was sealed with."""
SOURCE_KINDS: Final = ("fact", "metric", DERIVED)
COMPUTED: Final = "computed"
"""`source` of a test on a series rebuilt from the weekly cross-sections."""
PERIOD_SUM: Final = "period_sum"
"""Unit of a total over a span."""
MONEY_UNIT: Final = "ratio, or base_currency_units when the ledger is not normalised"


@dataclass(frozen=True, slots=True)
class Source:
    """Data that figures are computed from.

    Attributes
    ----------
    kind
        What `source` says of a figure computed from it: the kind it was sealed as.
    needs
        Kinds a run must have sealed for it.
    endpoint
        Registry id of the endpoint that serves the same data: a key that may not call it gets no figure computed
        from it.
    meaning
        What it is, for the documentation.
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
        What a record of that name is; None when its own `annualised` flag and unit say so.
    own
        Conventions of :mod:`pipeline.reconciliation.conventions` that are the interface's own definition, in one of its
        units: a value by any other is not served.
    annualised_only
        Whether a record that is not annualised is another figure, and passed over.
    """

    name: str
    annualisation: Annualisation | None
    own: tuple[str, ...]
    annualised_only: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """What the formula of a statistic leaves open. Empty where the question does not arise.

    Attributes
    ----------
    calendar
        What it counts in.
    costs
        Gross or net.
    ddof
        Of its standard deviation; None without one.
    factor
        What scales it to a year.
    risk_free
        Whether the risk-free rate is deducted.
    """

    calendar: str
    costs: str = ""
    ddof: int | None = None
    factor: str = ""
    risk_free: str = ""


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure with a value, a unit and a source.

    Attributes
    ----------
    name
        Key in its object.
    meaning, formula
        What it says, and how it is computed where the run did not seal it.
    sealed
        Records to look for; the first one with a value is served.
    source
        What it is computed from otherwise.
    unit
        Of the computed value: a unit of the sealed vocabulary, or :data:`MONEY_UNIT`.
    annualisation
        Of the computed value.
    horizon
        Span of time that one observation covers.
    signal
        Which signal it measures; None outside the IC family.
    definition
        What the formula leaves open.
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
    definition: Definition = field(kw_only=True)
