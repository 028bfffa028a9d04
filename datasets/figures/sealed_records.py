"""The figures that an engine sealed with a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True)
class SealedMetrics:
    """All sealed records of a run.

    Attributes
    ----------
    spans : Mapping[tuple[str, str | None], Records]
        (scope, period) -> records; the period of scope ``overall`` is None.
    """

    spans: Mapping[tuple[str, str | None], Records] = field(default_factory=dict)

    def of(self, scope: str, period: str | None = None) -> Records:
        """Return the records of one span.

        Parameters
        ----------
        scope : str
            ``overall``, ``yearly`` or ``monthly``.
        period : str or None
            Year (``2020``) or month (``2020-03``); None for ``overall``.

        Returns
        -------
        Records
            By name; empty when none was sealed.
        """
        return self.spans.get((scope, period), {})

    def periods(self, scope: str) -> tuple[str, ...]:
        """Return the periods of a scope that have a record.

        Parameters
        ----------
        scope : str
            ``yearly`` or ``monthly``.

        Returns
        -------
        tuple of str
            In the order in which they were sealed.
        """
        return tuple(period for name, period in self.spans if name == scope and period is not None)
