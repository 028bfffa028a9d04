"""The figures that the engine computed."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, derived, flag, number, text
from schemas.units import Unit

SCOPES: Final = ("overall", "yearly", "monthly")
METRIC_UNITS: Final = (
    "ratio",
    "percentage_points",
    "base_currency_units",
    "per_year",
    "per_session",
    "period_sum",
)
SEALED_SOURCE_KINDS: Final = ("fact", "metric")
REPRODUCED: Final = "reproduced"
NOT_REPRODUCED: Final = "not_reproduced"
NOT_CHECKED: Final = "not_checked"
RECONCILIATIONS: Final = (REPRODUCED, NOT_REPRODUCED, NOT_CHECKED)

SEALED_METRICS: Final = Table(
    name="sealed_metrics",
    meaning="One row per sealed figure, overall or of one year or month.",
    key=("name", "scope", "period"),
    sort=("scope", "period", "name"),
    sealed=False,
    columns=(
        text("name", "Sealed name of the figure.", bound=Bound.NAME),
        text("scope", "Span that it describes.", vocabulary=SCOPES),
        text("period", "The year (2020) or month (2020-03); null overall.", nullable=True),
        number("value", Unit.MIXED, "The figure; null if the engine could not determine it.", nullable=True),
        text("unit", "Unit of the value.", vocabulary=METRIC_UNITS),
        text("source_kind", "Whether it was counted or computed.", vocabulary=SEALED_SOURCE_KINDS),
        flag("annualised", "Whether the value is scaled to a year."),
        text(
            "reconciliation",
            "Whether a documented convention reproduces the value from the sealed tables; not_checked if the run sealed too few of "
            "them, and for names that are not served.",
            vocabulary=RECONCILIATIONS,
            **derived(),
        ),
        number(
            "recomputed_value",
            Unit.MIXED,
            "The value under that convention, otherwise by the definition of docs/metrics.md; null if not checked, or not determined by "
            "the tables.",
            nullable=True,
            **derived(),
        ),
        text(
            "convention",
            "Convention that reproduces the value; null without one.",
            nullable=True,
            **derived(),
        ),
    ),
)
