"""Settings of callers' connections."""

from __future__ import annotations

from typing import Final

from schemas.settings.readers import integer, seconds
from schemas.settings.setting import Group, Setting

_HOUR: Final = 3600


def _bytes(name: str, meaning: str, default: int) -> Setting:
    return Setting(name, integer(256, 2**20), meaning, default=default)


def _seconds(name: str, meaning: str, default: float) -> Setting:
    return Setting(name, seconds(0.05, _HOUR), meaning, default=default)


CONNECTIONS: Final = Group(
    "Connections",
    "Read by `alpha-results serve run` and applied before any key is read. Counts are per worker process.",
    (
        Setting(
            "max_connections",
            integer(1, 1_000_000),
            "Open connections, fewer if the process may not open as many file descriptors plus 96 for files. "
            "Further connections are closed.",
            default=1024,
        ),
        Setting(
            "max_connections_per_address",
            integer(1, 1_000_000),
            "Open connections of one address, for IPv6 of one /64 network; further ones are closed. Not applied "
            "if `trusted_hops` is set, because all connections then come from your own proxies.",
            default=256,
        ),
        _bytes(
            "max_target_bytes", "Maximum length of a request's target, path and query; beyond it 414.", 8192
        ),
        _bytes(
            "max_head_bytes",
            "Maximum length of a request's head, all lines together; beyond it 431, or closed if the head does "
            "not end.",
            32_768,
        ),
        _seconds(
            "head_timeout_seconds",
            "How long a request's head may take to arrive, and a new connection to send one; then the "
            "connection is closed.",
            10.0,
        ),
        _seconds(
            "keep_alive_seconds",
            "How long a connection may be idle between requests, or send a body after its answer. Set it above "
            "the idle timeout of your proxies, or they send requests into closing connections.",
            75.0,
        ),
        _seconds(
            "write_timeout_seconds",
            "How long a caller may leave a waiting answer unread; then the connection is cut.",
            60.0,
        ),
    ),
)
