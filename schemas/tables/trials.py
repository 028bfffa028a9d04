"""The daily returns of every variant that a run was selected from."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, number, text
from schemas.tables.shared_columns import DATE
from schemas.units import Unit

TRIALS: Final = Table(
    name="trials",
    meaning="One row per trial per session: every variant tried before the run was selected, the run's own included.",
    key=("trial", "date"),
    optional=True,
    columns=(
        text("trial", "Name of the variant in the engine.", bound=Bound.NAME),
        DATE,
        number("period_return", Unit.RATIO, "Return of the variant's long_short book over the session."),
    ),
)
