"""Settings of callers' connections."""

from __future__ import annotations

from typing import Final

from schemas.settings.setting import Group, integer, seconds

_BYTES: Final = (256, 2**20)
_SECONDS: Final = (0.05, 3600)

CONNECTIONS: Final = Group(
    "Connections",
    "Read by `alpha-results serve run` and applied before any key is read. Counts are per worker process.",
    (
        integer(
            "max_connections",
            (1, 1_000_000),
            "Maximum number of open connections; lower if the process may not open that many file descriptors plus 96 for files. Further "
            "connections are closed.",
            default=1024,
        ),
        integer(
            "max_connections_per_address",
            (1, 1_000_000),
            "Maximum number of open connections from one address, for IPv6 from one /64 network; further ones are closed. Not applied if "
            "`trusted_hops` is set, because all connections then come from your own proxies.",
            default=256,
        ),
        integer(
            "max_target_bytes",
            _BYTES,
            "Maximum length of a request's target, path and query; beyond it 414.",
            default=8192,
        ),
        integer(
            "max_head_bytes",
            _BYTES,
            "Maximum length of a request's head, all lines together; beyond it 431, or closed if the head does not end.",
            default=32_768,
        ),
        seconds(
            "head_timeout_seconds",
            _SECONDS,
            "How long a request's head may take to arrive, and a new connection to send its first; then the connection is closed.",
            default=10.0,
        ),
        seconds(
            "keep_alive_seconds",
            _SECONDS,
            "How long a connection may be idle between requests, or send a body after its answer. Set it above the idle timeout of your "
            "proxies, or they send requests into closing connections.",
            default=75.0,
        ),
        seconds(
            "write_timeout_seconds",
            _SECONDS,
            "How long a caller may leave a waiting answer unread; then the connection is cut.",
            default=60.0,
        ),
    ),
)
