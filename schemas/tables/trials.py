"""The daily returns of every variant that a run was selected from."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table
from schemas.tables.shared_columns import DATE
from schemas.units import Type, Unit

TRIALS: Final = Table(
    name="trials",
    meaning="One row per trial per session: every variant tried before the run was selected, the run's own included.",
    key=("trial", "date"),
    optional=True,
    columns=(
        Column("trial", Type.STR, Unit.NONE, "Name of the variant in the engine.", bound=Bound.NAME),
        DATE,
        Column(
            "period_return",
            Type.F64,
            Unit.RATIO,
            "Return of the variant's long_short book over the session.",
        ),
    ),
)
