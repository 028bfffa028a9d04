"""All connections of a process: how many there are, and which of them take too long."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from typing import Final, Protocol

import structlog

from serve.http.protocol.limits import DESCRIPTORS_FOR_FILES, ConnectionLimits

_log = structlog.get_logger("serve.http.protocol")

_LOOKS_PER_LIMIT: Final = 8
"""Looks within the shortest time limit: a limit is exact to an eighth of that."""
_MAX_PAUSE_SECONDS: Final = 1.0
_MAX_REFUSED: Final = DESCRIPTORS_FOR_FILES // 3
"""Connections beyond the limit that are refused with an answer at a time; any more are closed without a word."""
_NETWORK_BITS: Final = 64
_TELL_SECONDS: Final = 10.0


class Watched(Protocol):
    """What the connections tell of themselves."""

    def look(self, now: float) -> None:
        """End whatever takes too long."""
        ...

    def postpone(self, seconds: float) -> None:
        """Leave out a time in which nobody listened."""
        ...


class Connections:
    """Admits connections, and looks at every one of them a few times within the shortest time limit.

    One look at all is cheaper than a timer for each request, which would be set and cancelled thousands of times a second.

    Parameters
    ----------
    limits
        Of this process.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.refused = 0
        """Connections that were sent away."""
        self._admitted: dict[Watched, str] = {}
        self._leaving: set[Watched] = set()
        self._addresses: Counter[str] = Counter()
        self._pause = min(_MAX_PAUSE_SECONDS, limits.shortest_seconds / _LOOKS_PER_LIMIT)
        self._next: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._told = (0, 0.0)
        self.dated_for: list[tuple[bytes, bytes]] = []
        self.dated_lines = b""
        """The lines of the headers that the server adds to every answer, as of `dated`."""

    def __len__(self) -> int:
        return len(self._admitted)

    def dated(self, default_headers: list[tuple[bytes, bytes]]) -> bytes:
        """Return the lines of the headers that the server adds to every answer; it makes a new list once a second."""
        self.dated_for = default_headers
        self.dated_lines = b"".join([b"%b: %b\r\n" % header for header in default_headers])
        return self.dated_lines

    def admit(self, connection: Watched, address: str | None) -> str | None:
        """Take a connection up; where that is too many, say why not."""
        self._watch()
        network = _network(address)
        if len(self._admitted) >= self.limits.max_connections:
            return "This service has as many connections as it allows"
        if self._addresses[network] >= self.limits.max_connections_per_address:
            return "Your address has as many connections as it may"
        self._admitted[connection] = network
        self._addresses[network] += 1
        return None

    def neighbours(self, connection: Watched) -> int:
        """Return how many connections the address of one has, itself included."""
        return self._addresses[self._admitted.get(connection, "")] or 1

    def send_away(self, connection: Watched) -> bool:
        """Register a connection that is refused as one too many; False when there are too many of those as well."""
        self.refused += 1
        if len(self._leaving) >= _MAX_REFUSED:
            return False
        self._leaving.add(connection)
        return True

    def leave(self, connection: Watched) -> None:
        """Forget a connection."""
        self._leaving.discard(connection)
        network = self._admitted.pop(connection, None)
        if network is not None:
            self._addresses[network] -= 1
            if not self._addresses[network]:
                del self._addresses[network]

    def _watch(self) -> None:
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._due = loop.time() + self._pause
            self._next = loop.call_later(self._pause, self._look)

    def _look(self) -> None:
        self._next = None
        now = asyncio.get_running_loop().time()
        late = now - self._due
        try:
            for connection in (*self._admitted, *self._leaving):
                if late > self._pause:
                    # Nothing was read meanwhile: what callers sent in time may still lie there.
                    connection.postpone(late)
                else:
                    connection.look(now)
            self._tell(now)
        finally:
            if self._admitted or self._leaving:
                self._watch()

    def _tell(self, now: float) -> None:
        logged, when = self._told
        if self.refused > logged and now - when >= _TELL_SECONDS:
            _log.warning("connections_refused", count=self.refused - logged, open=len(self))
            self._told = (self.refused, now)


def _network(address: str | None) -> str:
    """Return what counts as one address: of IPv6 the network that one caller is usually given."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found.packed, _NETWORK_BITS), strict=False))
