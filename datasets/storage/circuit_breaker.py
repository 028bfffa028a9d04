"""A circuit breaker for a store that takes requests and does not answer."""

from __future__ import annotations

import time
from typing import Final

from schemas.errors import StorageUnavailable

SLOW_SECONDS: Final = 2.0
"""A failure that took longer than this is that of a store which takes requests and does not answer."""
PAUSE_SECONDS: Final = 30.0
"""How long the circuit then stays open; the next answer closes it."""


class CircuitBreaker:
    """Open after a request went unanswered for seconds, closed again by any answer.

    A store that hangs must not occupy every thread of a service, one request after the other, while the cache could
    answer others. Whoever follows the catalogue goes on asking it, and finds it answering again. A store that refuses
    connections fails fast by itself and opens nothing.

    Parameters
    ----------
    address
        Of the store, as messages may show it.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._open_until = float("-inf")

    def record_answer(self) -> None:
        """Close the circuit."""
        self._open_until = float("-inf")

    def record_failure(self, seconds: float) -> None:
        """Open the circuit when a failure took so long that the store must be hanging."""
        if seconds > SLOW_SECONDS:
            self._open_until = time.monotonic() + PAUSE_SECONDS

    def require_closed(self, relative: str) -> None:
        """Refuse at once to ask a store that hangs.

        Raises
        ------
        StorageUnavailable
            When the store left a request unanswered a moment ago and has answered none since.
        """
        if time.monotonic() < self._open_until:
            raise StorageUnavailable(
                f"the store of {self._address} does not answer, so it was not asked for {relative}"
            )
