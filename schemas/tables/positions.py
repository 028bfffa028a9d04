"""The positions of each book at each close."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Table
from schemas.tables.shared_columns import BOOK, DATE, SYMBOL
from schemas.units import Type, Unit

POSITIONS: Final = Table(
    name="positions",
    meaning="One row per held name per book per session; names not held are absent.",
    key=("book", "date", "symbol"),
    partition=("book",),
    columns=(
        BOOK,
        DATE,
        SYMBOL,
        Column(
            "quantity",
            Type.F64,
            Unit.SHARES,
            "Shares held: positive long, negative short.",
            bound=Bound.NOT_ZERO,
        ),
        Column(
            "mark_price",
            Type.F64,
            Unit.PRICE,
            "Official close of the primary exchange.",
            bound=Bound.POSITIVE,
        ),
        Column("signed_notional", Type.F64, Unit.BASE_CURRENCY, "Quantity times mark price."),
        Column("weight", Type.F64, Unit.RATIO, "Signed notional over the same day's ending equity."),
    ),
)
