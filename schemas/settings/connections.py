"""The declarations about callers' connections."""

from __future__ import annotations

from typing import Final

from schemas.settings.readers import seconds, whole
from schemas.settings.setting import Group, Setting

_HOUR: Final = 3600.0


def _bytes(name: str, meaning: str, default: int, *, least: int = 256, most: int = 2**20) -> Setting:
    return Setting(name, whole(least, most), meaning, default=default)


def _seconds(name: str, meaning: str, default: float) -> Setting:
    return Setting(name, seconds(0.05, _HOUR), meaning, default=default)


CONNECTIONS: Final = Group(
    "Connections",
    "Read by `alpha-results serve run`, which applies them before any key is read. Counts are those of each worker process.",
    (
        Setting(
            "max_connections",
            whole(1, 1_000_000),
            "Open connections; fewer where the process may not have as many file descriptors and 96 for files. "
            "One more is closed.",
            default=1024,
        ),
        Setting(
            "max_connections_per_address",
            whole(1, 1_000_000),
            "Open connections of one address, of IPv6 of one /64 network; one more is closed. Not applied when "
            "`trusted_hops` is set: all connections then come from your own proxies.",
            default=256,
        ),
        _bytes(
            "max_target_bytes", "Length of a request's target, path and query; a longer one is 414.", 8192
        ),
        _bytes(
            "max_head_bytes",
            "Length of a request's head, all lines together; a longer one is 431, or closed where its end does not come.",
            32_768,
        ),
        _seconds(
            "head_timeout_seconds",
            "How long a request's head may take to arrive, and a new connection to begin one; then the connection is "
            "closed.",
            10.0,
        ),
        _seconds(
            "keep_alive_seconds",
            "How long a connection may be idle between requests, or send a body after its answer. Longer than your proxies keep theirs, or they send "
            "requests into connections that are just closing.",
            75.0,
        ),
        _seconds(
            "write_timeout_seconds",
            "How long a caller may read nothing of an answer that waits for it; then the connection is cut.",
            60.0,
        ),
    ),
)
