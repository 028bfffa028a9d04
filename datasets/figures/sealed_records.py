"""The figures that an engine sealed with a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
