"""Whether the books of a result come out as the library that made it has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from alpha_results_seal.errors import SealError
from alpha_results_seal.ledger import Ledger

_TOLERANCE = 1e-8


def require_reproduced(ledger: Ledger, equity: Any, library: str) -> None:
    """Compare the equity of every session with the library's own.

    Parameters
    ----------
    ledger
        Of one book.
    equity
        Pandas series by day.
    library
        Its name.

    Raises
    ------
    SealError
        When they differ: then cash came or went in a way that fills do not tell.
    """
    portfolio = ledger.tables["portfolio"]
    days = equity.index.tz_localize(None).to_numpy().astype("datetime64[D]")
    own = dict(zip(days.tolist(), equity.to_numpy(dtype=np.float64).tolist()))
    for day, found in portfolio.select("date", "ending_equity").iter_rows():
        if not abs(found - own.get(day, np.nan)) <= _TOLERANCE * max(ledger.equity_basis, abs(found)):
            raise SealError(
                f"on {day} the fills come to an equity of {found:.6f}, and {library} has {own.get(day, np.nan):.6f}: cash "
                "came or went that fills do not tell, such as dividends, interest or deposits. Seal the tables yourself."
            )
