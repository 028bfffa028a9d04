"""The figures that the engine computed."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table, derived
from schemas.units import Type, Unit

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
        Column("name", Type.STR, Unit.NONE, "Sealed name of the figure.", bound=Bound.NAME),
        Column("scope", Type.STR, Unit.NONE, "Span that it describes.", vocabulary=SCOPES),
        Column(
            "period", Type.STR, Unit.NONE, "The year (2020) or month (2020-03); null overall.", nullable=True
        ),
        Column(
            "value",
            Type.F64,
            Unit.MIXED,
            "The figure; null if the engine could not determine it.",
            nullable=True,
        ),
        Column("unit", Type.STR, Unit.NONE, "Unit of the value.", vocabulary=METRIC_UNITS),
        Column(
            "source_kind",
            Type.STR,
            Unit.NONE,
            "Whether it was counted or computed.",
            vocabulary=SEALED_SOURCE_KINDS,
        ),
        Column("annualised", Type.BOOL, Unit.NONE, "Whether the value is scaled to a year."),
        derived(
            "reconciliation",
            Type.STR,
            Unit.NONE,
            "Whether a documented convention reproduces the value from the sealed tables; not_checked if the run sealed too few of "
            "them, and for names that are not served.",
            vocabulary=RECONCILIATIONS,
        ),
        derived(
            "recomputed_value",
            Type.F64,
            Unit.MIXED,
            "The value under that convention, otherwise by the definition of docs/metrics.md; null if not checked, or not determined by "
            "the tables.",
            nullable=True,
        ),
        derived(
            "convention",
            Type.STR,
            Unit.NONE,
            "Convention that reproduces the value; null without one.",
            nullable=True,
        ),
    ),
)
