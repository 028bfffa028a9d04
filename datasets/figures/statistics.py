"""Entries of statistics: sealed, or else computed, or else withheld with a reason."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from datasets.figures import rank_ic
from datasets.figures.ratios import FROM_LEDGER
from datasets.figures.run_figures import CrossSections, RawSignal, Sources
from datasets.figures.sealed_records import Records, SealedRecord
from datasets.figures.series import SESSIONS_PER_YEAR, mean_or_null
from datasets.figures.unavailable import (
    ACCESS_LIMITED,
    BLOCK_ERROR,
    FAILED,
    MISSING_KIND,
    Unavailable,
    Warnings,
    failed,
)
from schemas.metrics.core import CORE, RANK_IC_RAW, RATE_OF, RISK_FREE_RATE, SERVED_CONVENTIONS
from schemas.metrics.statistic import (
    DERIVED,
    LEDGER,
    MONEY_UNIT,
    PERIOD_SUM,
    Annualisation,
    Checked,
    SealedName,
    Statistic,
    Status,
)
from schemas.tables.books import RAW_PREFIX
from schemas.tables.sealed_metrics import NOT_CHECKED, NOT_REPRODUCED


def derive(statistic: Statistic, sources: Sources) -> float | Unavailable:
    """Compute a statistic from the available data.

    Parameters
    ----------
    statistic : Statistic
        Declaration of the statistic.
    sources : Sources
        Data of the span to describe.

    Returns
    -------
    float or Unavailable
        In the unit of :meth:`Span.unit_of`; withheld if the data cannot be read or do not determine it.
    """
    if statistic.source is LEDGER:
        ledger = sources.ledger
        return ledger if isinstance(ledger, Unavailable) else FROM_LEDGER[statistic.name](ledger)
    weeks = sources.raw if statistic in RANK_IC_RAW else sources.cross_sections
    if isinstance(weeks, Unavailable):
        return weeks
    return without_returns(weeks) or rank_ic.FROM_CROSS_SECTIONS[statistic.name](weeks)


def without_returns(weeks: CrossSections | RawSignal) -> Unavailable | None:
    """Return the reason to withhold every figure when no scored name has a forward return.

    Parameters
    ----------
    weeks : CrossSections or RawSignal
        Weekly figures of the signal in the window.

    Returns
    -------
    Unavailable or None
        ``insufficient_data`` if no name has a score, else ``forward_returns_absent``; None if any scored name has a forward
        return, and for a window without weeks.
    """
    if not weeks.n_return_obs.size or weeks.n_return_obs.any():
        return None
    if not weeks.cohort_size.any():
        return Unavailable("insufficient_data", "no name has a score in the window")
    return Unavailable("forward_returns_absent", "no forward return is known in the window")


Entry = dict[str, Any]
"""The served entry of a statistic."""
_SERVED_AS_SEALED: Final = (Checked.REPRODUCED, Checked.STATED)
_SOURCE_REASONS: Final = (MISSING_KIND, ACCESS_LIMITED, BLOCK_ERROR)
"""Codes of reasons that concern a source rather than one statistic."""


@dataclass(frozen=True, slots=True)
class Span:
    """The span of a run that statistics describe.

    Attributes
    ----------
    records : Records
        Sealed records of the complete span.
    complete : Sources
        Data of the complete span, to which the records belong.
    rows : Sources
        Data inside the window; the same object if the window contains the span.
    equity_basis : float
        Opening equity of the run, in equity units.
    unreadable : Unavailable or None
        Reason why the sealed records cannot be read; every statistic is then withheld, because a computed figure could be
        mistaken for a sealed one.
    period : str or None
        Year or month of the span; None for the complete run.
    raw : bool
        Whether the caller may see the names of raw records.
    computed : bool
        Whether the statistics are computed regardless of sealed records.
    """

    records: Records
    complete: Sources
    rows: Sources
    equity_basis: float
    unreadable: Unavailable | None = None
    period: str | None = None
    raw: bool = True
    computed: bool = False

    @property
    def narrowed(self) -> bool:
        """Whether a window narrows the span, so that sealed and computed figures describe different days."""
        return self.rows is not self.complete

    def unit_of(self, statistic: Statistic) -> str:
        """Return the unit of the computed value of a statistic.

        Parameters
        ----------
        statistic : Statistic
            Declaration of the statistic.

        Returns
        -------
        str
            The declared unit; money is a ratio when the run opens with equity of 1.
        """
        if statistic.unit != MONEY_UNIT:
            return statistic.unit
        return "ratio" if self.equity_basis == 1.0 else "base_currency_units"


def any_sealed(statistics: Iterable[Statistic], records: Records) -> bool:
    """Whether any of several statistics is served from a record.

    Parameters
    ----------
    statistics : iterable of Statistic
        Declarations of the statistics.
    records : Records
        Sealed records of the span.

    Returns
    -------
    bool
        True if a record states one of them, and the sealed tables neither contradict it nor show another convention.
    """
    stated = (stated_value(statistic, records) for statistic in statistics)
    return any(record is not None and checked(*record) in _SERVED_AS_SEALED for record in stated)


def checked(name: SealedName, record: SealedRecord) -> Checked:
    """Return the evidence for a statistic that a record states.

    Parameters
    ----------
    name : SealedName
        Declared name under which the statistic was sealed.
    record : SealedRecord
        The record of that name.

    Returns
    -------
    Checked
        Reproduced by the API's definition, computed (sealed by another convention), contradicted, or only stated.
    """
    if record.reconciliation == NOT_CHECKED:
        return Checked.STATED
    if record.reconciliation == NOT_REPRODUCED:
        return Checked.CONTRADICTED
    return Checked.REPRODUCED if record.convention in name.conventions else Checked.COMPUTED


def stated_value(statistic: Statistic, records: Records) -> tuple[SealedName, SealedRecord] | None:
    """Find the record that states a statistic: the first of its declared names with a value.

    Parameters
    ----------
    statistic : Statistic
        Declaration of the statistic.
    records : Records
        Sealed records of the span.

    Returns
    -------
    tuple of (SealedName, SealedRecord) or None
        None if no record states it.
    """
    for name in statistic.sealed:
        record = records.get(name.name)
        if (
            record is not None
            and record.value is not None
            and (record.annualised or not name.annualised_only)
        ):
            return name, record
    return None


def unsealed(statistics: Iterable[Statistic], records: Records) -> list[str]:
    """Return the names of the statistics that no record states.

    Parameters
    ----------
    statistics : iterable of Statistic
        Declarations of the statistics.
    records : Records
        Sealed records of the span.

    Returns
    -------
    list of str
        In the order of `statistics`.
    """
    return [statistic.name for statistic in statistics if stated_value(statistic, records) is None]


def entry(statistic: Statistic, span: Span, warnings: Warnings, block: str) -> Entry:
    """Return the entry of one statistic.

    Parameters
    ----------
    statistic : Statistic
        Declaration of the statistic.
    span : Span
        Sealed records and data.
    warnings : Warnings
        Receives a warning if data are closed, missing or unreadable, the computation fails, or the tables contradict the
        sealed value; if the data do not determine the figure, only the entry says so.
    block : str
        Dotted path of the block, for warnings.

    Returns
    -------
    dict
        The entry as served; ``value`` is None when withheld, with ``withheld_reason``.
    """
    stated = stated_value(statistic, span.records)
    evidence = Checked.COMPUTED if stated is None else checked(*stated)
    value: float | None
    source: str | None
    kind: str | None
    reason: Unavailable | None = None
    if stated is not None and evidence in _SERVED_AS_SEALED:
        name, record = stated
        value, unit, source, kind = record.value, record.unit, record.name, record.source_kind
        scaling = name.annualisation or _scaling(record)
    else:
        unit, scaling = span.unit_of(statistic), statistic.annualisation
        derived = span.unreadable or _derived(statistic, span.rows, warnings, block)
        if stated is not None and evidence is Checked.CONTRADICTED:
            where = f"{statistic.name} of {span.period}" if span.period else statistic.name
            _warn_of_contradiction(where, stated[1].value, derived, warnings, block)
        if isinstance(derived, Unavailable):
            value, source, kind, reason = None, None, None, derived
        else:
            value, source, kind = derived, statistic.source.kind, DERIVED
    status = Status.NOT_MEASURABLE if value is None else Status.AVAILABLE
    written: Entry = {
        "value": value,
        "unit": unit,
        "status": status.value,
        "checked": evidence.value if value is not None or evidence is Checked.CONTRADICTED else None,
        "source": None if source is not None and source.startswith(RAW_PREFIX) and not span.raw else source,
        "source_kind": kind,
    }
    if statistic.signal is not None:
        written["signal"] = statistic.signal.value
    written["annualisation"] = scaling.value
    if statistic.name == RATE_OF:
        written["risk_free_rate"], written["risk_free_rate_source"] = _risk_free(
            span, sealed=evidence in _SERVED_AS_SEALED
        )
    if stated is not None and evidence not in _SERVED_AS_SEALED:
        written["sealed_value"], written["sealed_unit"] = stated[1].value, stated[1].unit
        written["sealed_convention"] = stated[1].convention
    if reason is not None:
        prefix = "" if span.unreadable or span.computed else f"{_not_sealed(statistic, span)}; "
        written["withheld_reason"] = prefix + reason.text
    return written


def core_statistics(span: Span, warnings: Warnings, block: str) -> dict[str, Entry]:
    """Return the entries of all core statistics of a span, including deprecated names.

    Parameters
    ----------
    span : Span
        Sealed records and data.
    warnings : Warnings
        Receives the warnings of :func:`entry`.
    block : str
        Dotted path of the block, for warnings.

    Returns
    -------
    dict of str to dict
        Name of the statistic -> its entry.
    """
    entries: dict[str, Entry] = {}
    for statistic in CORE:
        computed = entries[statistic.name] = entry(statistic, span, warnings, block)
        for alias in statistic.aliases:
            entries[alias] = {**computed, "deprecated": True, "superseded_by": statistic.name}
    return entries


def _derived(statistic: Statistic, sources: Sources, warnings: Warnings, block: str) -> float | Unavailable:
    name = f"{block}.{statistic.name}"
    try:
        figure = derive(statistic, sources)
    except Exception:  # noqa: BLE001 - the other statistics are still served
        figure = failed(name)
    if isinstance(figure, Unavailable):
        if figure is FAILED:
            warnings.withheld(name, figure)
        elif figure.code in _SOURCE_REASONS:
            warnings.withheld(block, figure)
        return figure
    if not math.isfinite(figure):
        return Unavailable("insufficient_data", "the figure is not a finite number")
    return figure


def _scaling(record: SealedRecord) -> Annualisation:
    """Return the annualisation of a record."""
    if record.annualised:
        return Annualisation.ANNUALISED
    return Annualisation.NOT_ANNUALISABLE if record.unit == PERIOD_SUM else Annualisation.PER_PERIOD


def _warn_of_contradiction(
    where: str, sealed: float | None, derived: float | Unavailable, warnings: Warnings, block: str
) -> None:
    """Add a notice that states the contradicted sealed value and the served one."""
    instead = (
        f"it cannot be recomputed ({derived.text}) and is withheld"
        if isinstance(derived, Unavailable)
        else f"{derived:.9g} follows from the tables and is served"
    )
    warnings.add(
        block,
        "figure_not_reproduced",
        f"{where}: no documented convention gives the sealed {sealed:.9g}; {instead}.",
        "metrics",
        of=where,
    )


def _not_sealed(statistic: Statistic, span: Span) -> str:
    records = span.records
    stated = stated_value(statistic, records)
    if stated is not None:
        if stated[1].convention is not None:
            return f"{stated[1].value:.9g} was sealed by another convention ({stated[1].convention})"
        return f"the sealed {stated[1].value:.9g} does not follow from the sealed tables"
    null = [x.name for x in statistic.sealed if x.name in records and records[x.name].value is None]
    if not null:
        return "no value was sealed"
    named = [name for name in null if span.raw or not name.startswith(RAW_PREFIX)]
    return f"{', '.join(named) or 'the figure'} was sealed without a value"


def _is_rate(record: SealedRecord) -> bool:
    """Whether a sealed rate may be served with a figure."""
    return record.reconciliation == NOT_CHECKED or record.convention in SERVED_CONVENTIONS[RISK_FREE_RATE]


def _risk_free(span: Span, *, sealed: bool) -> tuple[float | None, str | None]:
    """Return the risk-free rate of the ratio, and the rate's source.

    Sealed ratios and rates describe the complete span. A ratio computed from part of the span uses the rate of the same
    sessions.
    """
    record = span.records.get(RISK_FREE_RATE)
    complete = sealed or not span.narrowed
    if complete and record is not None and record.value is not None and _is_rate(record):
        return record.value, RISK_FREE_RATE
    ledger = (span.complete if complete else span.rows).ledger
    if isinstance(ledger, Unavailable):
        return None, None
    mean = mean_or_null(ledger.risk_free)
    return (None, None) if mean is None else (mean * SESSIONS_PER_YEAR, LEDGER.kind)
