"""The entry of one statistic, member by member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from schemas.field import Field, figure, flag, number, record, text
from schemas.metrics.core import RATE_OF, RISK_FREE_RATE
from schemas.metrics.statistic import (
    LEDGER,
    NO_SPAN,
    SOURCE_KINDS,
    STATED,
    Annualisation,
    Checked,
    Signal,
    Statistic,
    Status,
)
from schemas.tables.sealed_metrics import METRIC_UNITS

_LABEL: Final = {"formula": STATED, "horizon": NO_SPAN, "source": "the statistic that it describes"}
"""Traits of members that describe a value rather than measure one."""


def statistic_field(statistic: Statistic, *, alias: str | None = None, computed: bool = False) -> Field:
    """Declare the entry of a statistic, under its own name or the deprecated name `alias`.

    Parameters
    ----------
    computed
        Whether to ignore sealed figures.
    """
    names = " or ".join(sealed.name for sealed in statistic.sealed)
    meaning = statistic.meaning if alias is None else f"Deprecated name of {statistic.name}; the same entry."
    source = f"computed from {statistic.source.meaning}"
    if not computed:
        source = f"the sealed record {names}, unless the tables give another value by this definition; else {source}"
    return record(
        alias or statistic.name,
        meaning,
        *_members(statistic, deprecated=alias is not None, computed=computed),
        unit=statistic.unit,
        formula=statistic.formula,
        horizon=statistic.horizon,
        source=source,
        signal=statistic.signal or "",
        deprecated=alias is not None,
    )


def _members(statistic: Statistic, *, deprecated: bool, computed: bool) -> Iterator[Field]:
    yield figure("value", "The figure; null when it cannot be measured.", unit=statistic.unit)
    yield _label("unit", "Unit of the value, as sealed or as computed.", METRIC_UNITS)
    yield _label("status", "Whether the figure has a value.", Status)
    yield _label(
        "checked",
        "Provenance of the figure, as `checked` of the documentation block explains; null without a figure to check.",
        Checked,
        nullable=True,
    )
    yield _label(
        "source",
        f"Name of the sealed record, or {statistic.source.kind} when computed from that; null without a value"
        + (", and for keys without raw-book access if it is sealed." if statistic.signal == "raw" else "."),
        (*(sealed.name for sealed in statistic.sealed), statistic.source.kind),
        nullable=True,
    )
    yield _label(
        "source_kind",
        "fact or metric as sealed, derived when computed here; null without a value.",
        SOURCE_KINDS,
        nullable=True,
    )
    if statistic.signal is not None:
        yield _label("signal", "Which of the two signals is measured.", Signal)
    yield _label("annualisation", "Whether the value is scaled to a year.", Annualisation)
    if statistic.name == RATE_OF:
        yield figure(
            "risk_free_rate",
            "Annual risk-free rate deducted; null when unknown.",
            f"the sealed {RISK_FREE_RATE}, else mean risk_free_return of a session x 252",
        )
        yield _label(
            "risk_free_rate_source",
            f"{RISK_FREE_RATE} when sealed, {LEDGER.kind} when averaged from the ledger, null when unknown.",
            (RISK_FREE_RATE, LEDGER.kind),
            nullable=True,
        )
    if deprecated:
        yield flag("deprecated", "Always true: read the statistic under its new name.", **_LABEL)
        yield _label("superseded_by", "Name of the statistic to read instead.", (statistic.name,))
    if not computed:
        yield from _sealed_beside()
    yield text("withheld_reason", "Why there is no value; only then.", optional=True, **_LABEL)


def _sealed_beside() -> Iterator[Field]:
    """Declare the members with the sealed value, for entries that serve another value."""
    yield number("sealed_value", "see sealed_unit", "The sealed value, unless it is served.", optional=True)
    yield _label("sealed_unit", "Unit of sealed_value.", METRIC_UNITS, optional=True)
    yield text(
        "sealed_convention",
        "The convention of docs/rules.md that gives sealed_value; null when none does.",
        nullable=True,
        optional=True,
        **_LABEL,
    )


def _label(name: str, meaning: str, vocabulary: Iterable[str], **rules: bool) -> Field:
    return text(name, meaning, vocabulary=tuple(vocabulary), **rules, **_LABEL)
