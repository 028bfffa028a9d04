"""The figures that an engine sealed with a run, and the statistics that they state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from schemas.metrics.statistic import Checked, SealedName, Statistic
from schemas.tables.sealed_metrics import NOT_CHECKED, NOT_REPRODUCED


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """One sealed figure.

    Attributes
    ----------
    name : str
        As sealed.
    value : float or None
        Value in `unit`; None if it was sealed as undetermined.
    unit, source_kind : str
        As sealed.
    annualised : bool
        Whether the value is scaled to a year.
    reconciliation : str
        Whether a convention reproduces the value from the sealed tables, one of
        :data:`schemas.tables.sealed_metrics.RECONCILIATIONS`.
    convention : str or None
        The convention that reproduces the value; None if no convention does.
    """

    name: str
    value: float | None
    unit: str
    source_kind: str
    annualised: bool
    reconciliation: str
    convention: str | None


Records = Mapping[str, SealedRecord]
"""The sealed records of one span, by name."""

SealedMetrics = Mapping[tuple[str, str | None], Records]
"""All sealed records of a run: scope (``overall``, ``yearly`` or ``monthly``) and period (``2020`` or ``2020-03``; None for
``overall``) -> records."""

SERVED_AS_SEALED: Final = (Checked.REPRODUCED, Checked.STATED)
"""Evidence with which a statistic is served as sealed."""


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
    return any(record is not None and checked(*record) in SERVED_AS_SEALED for record in stated)


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
        Reproduced by the interface's definition, computed (sealed by another convention), contradicted, or only stated.
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
