"""Notices: improbable figures of a run. They never refuse a seal.

A rule states what is impossible, a notice what is improbable: one figure, one threshold, and the source of the threshold. A
notice may point to a falsified run whose tables are consistent, or to an honest but unusual run; the reader decides which.
"""

from __future__ import annotations

from typing import Final

from schemas.notices.books import BOOK_NOTICES
from schemas.notices.catalogue import CATALOGUE_NOTICES
from schemas.notices.forward_returns import FORWARD_RETURN_NOTICES
from schemas.notices.market import MARKET_NOTICES
from schemas.notices.moves import MOVE_NOTICES
from schemas.notices.notice import Notice
from schemas.notices.signal import SIGNAL_NOTICES
from schemas.notices.universe import UNIVERSE_NOTICES

NOTICES: Final[dict[str, Notice]] = {
    notice.id: notice
    for notice in (
        *SIGNAL_NOTICES,
        *FORWARD_RETURN_NOTICES,
        *BOOK_NOTICES,
        *MOVE_NOTICES,
        *UNIVERSE_NOTICES,
        *CATALOGUE_NOTICES,
        *MARKET_NOTICES,
    )
}
"""Notice id -> declaration, in the order in which they are recorded."""
