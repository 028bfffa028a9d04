"""Limits on the connections of a process: number, file descriptors, bytes and seconds."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from ipaddress import IPv6Address, ip_network
from typing import Final

import structlog

from serve.auth.client_address import parse_address
from serve.settings import Settings

_log = structlog.get_logger("serve.http.connections")

DESCRIPTORS_FOR_FILES: Final = 96
"""File descriptors reserved for data files, stores and logs."""
_NETWORK_BITS: Final = 64
_LOG_SECONDS: Final = 10.0


def fit_to_descriptors(settings: Settings, *, behind_proxies: bool) -> Settings:
    """Raise the soft limit of file descriptors to fit the connections; return settings with at most as many as it then allows.

    Parameters
    ----------
    behind_proxies
        Whether connections come from the deployment's own proxies; if so, the limit per address does not apply.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = settings.max_connections + DESCRIPTORS_FOR_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < needed:
            possible = max(1, allowed - DESCRIPTORS_FOR_FILES)
            _log.warning("connections_bounded", wanted=settings.max_connections, descriptors_allow=possible)
            settings = replace(settings, max_connections=possible)
    if behind_proxies:
        settings = replace(settings, max_connections_per_address=settings.max_connections)
    return settings


class Connections:
    """Counts the open connections of this process, in total and by address.

    Parameters
    ----------
    limits
        Settings of this process.
    """

    def __init__(self, limits: Settings) -> None:
        self.limits = limits
        self.refused = 0
        """Connections that were closed because there were too many."""
        self._open: dict[Hashable, str] = {}
        self._addresses: Counter[str] = Counter()
        self._logged = (0, float("-inf"))

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Hashable, address: str | None) -> bool:
        """Count a connection; return False if the process or the address has reached its limit."""
        network = _network(address)
        limits = self.limits
        if (
            len(self._open) >= limits.max_connections
            or self._addresses[network] >= limits.max_connections_per_address
        ):
            self.refused += 1
            self._log_refused()
            return False
        self._open[connection] = network
        self._addresses[network] += 1
        return True

    def leave(self, connection: Hashable) -> None:
        """Forget a connection."""
        network = self._open.pop(connection, None)
        if network is not None:
            self._addresses[network] -= 1
            if not self._addresses[network]:
                del self._addresses[network]

    def _log_refused(self) -> None:
        count, when = self._logged
        now = time.monotonic()
        if now - when >= _LOG_SECONDS:
            _log.warning("connections_refused", count=self.refused - count, open=len(self))
            self._logged = (self.refused, now)


def _network(address: str | None) -> str:
    """Return the address that is counted; for IPv6, the network that one caller is usually assigned."""
    ip = parse_address(address or "")
    if isinstance(ip, IPv6Address):
        return str(ip_network((ip.packed, _NETWORK_BITS), strict=False))
    return address or "" if ip is None else str(ip)
