"""The index of weekly decision dates."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, count, derived, text
from schemas.tables.shared_columns import WEEK

TRADED: Final = "traded"
PENDING: Final = "pending"

REBALANCES: Final = Table(
    name="rebalances",
    meaning="One row per weekly decision date, skipped weeks included.",
    key=("date",),
    columns=(
        WEEK,
        text(
            "week_status",
            "traded; pending until the next open; otherwise the engine's skip reason in snake_case.",
            bound=Bound.NAME,
        ),
        count(
            "n_symbols",
            "Names in the week's cross-section: its decision rows. Not published if the run sealed no decisions.",
            optional=True,
            **derived(),
        ),
    ),
)
