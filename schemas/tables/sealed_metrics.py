"""The figures the engine computed itself."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table
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

SEALED_METRICS: Final = Table(
    name="sealed_metrics",
    meaning="One row per figure the run sealed, overall or of one year or month.",
    key=("name", "scope", "period"),
    sort=("scope", "period", "name"),
    sealed=False,
    columns=(
        Column("name", Type.STR, Unit.NONE, "The engine's name of the figure.", bound=Bound.NAME),
        Column("scope", Type.STR, Unit.NONE, "What span it describes.", vocabulary=SCOPES),
        Column(
            "period", Type.STR, Unit.NONE, "The year (2020) or month (2020-03); null overall.", nullable=True
        ),
        Column(
            "value",
            Type.F64,
            Unit.MIXED,
            "The figure; null when the engine could not determine it.",
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
    ),
)
