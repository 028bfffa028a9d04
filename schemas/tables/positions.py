"""The positions of each book at each close."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Table, number
from schemas.tables.shared_columns import BOOK, DATE, SYMBOL
from schemas.units import Unit

POSITIONS: Final = Table(
    name="positions",
    meaning="One row per held name per book per session; names not held are absent.",
    key=("book", "date", "symbol"),
    partition=("book",),
    columns=(
        BOOK,
        DATE,
        SYMBOL,
        number("quantity", Unit.SHARES, "Shares held: positive long, negative short.", bound=Bound.NOT_ZERO),
        number("mark_price", Unit.PRICE, "Official close of the primary exchange.", bound=Bound.POSITIVE),
        number("signed_notional", Unit.BASE_CURRENCY, "Quantity times mark price."),
        number("weight", Unit.RATIO, "Signed notional over the same day's ending equity."),
    ),
)
