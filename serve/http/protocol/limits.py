"""What callers' connections may take: bytes, seconds, file descriptors."""

from __future__ import annotations

import resource
from dataclasses import dataclass, fields
from typing import Final, Self

import structlog

from schemas.settings import SETTINGS
from serve.settings import Settings

_log = structlog.get_logger("serve.http.protocol")

DESCRIPTORS_FOR_FILES: Final = 96
"""File descriptors that connections leave to data files, stores, logs, and to callers that are being sent away."""


def _default(name: str) -> int:
    found: int = SETTINGS[name].default
    return found


def _default_seconds(name: str) -> float:
    found: float = SETTINGS[name].default
    return found


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Of one serving process. The declaration of its name says what a field means."""

    max_connections: int = _default("max_connections")
    max_connections_per_address: int = _default("max_connections_per_address")
    max_target_bytes: int = _default("max_target_bytes")
    max_head_bytes: int = _default("max_head_bytes")
    max_header_line_bytes: int = _default("max_header_line_bytes")
    max_headers: int = _default("max_headers")
    max_body_bytes: int = _default("max_body_bytes")
    head_timeout_seconds: float = _default_seconds("head_timeout_seconds")
    body_timeout_seconds: float = _default_seconds("body_timeout_seconds")
    keep_alive_seconds: float = _default_seconds("keep_alive_seconds")
    write_timeout_seconds: float = _default_seconds("write_timeout_seconds")

    @classmethod
    def of(cls, settings: Settings, *, behind_proxies: bool) -> Self:
        """Return the limits of this process: as set, but never more connections than it may have descriptors for.

        Parameters
        ----------
        behind_proxies
            Whether connections come from the deployment's own proxies: then their addresses are not counted.
        """
        given = {field.name: getattr(settings, field.name) for field in fields(cls)}
        fitting = max(1, descriptors() - DESCRIPTORS_FOR_FILES)
        if fitting < given["max_connections"]:
            _log.warning("connections_bounded", wanted=given["max_connections"], descriptors_allow=fitting)
            given["max_connections"] = fitting
        if behind_proxies:
            given["max_connections_per_address"] = given["max_connections"]
        return cls(**given)

    @property
    def shortest_seconds(self) -> float:
        """The shortest of the time limits."""
        return min(
            self.head_timeout_seconds,
            self.body_timeout_seconds,
            self.keep_alive_seconds,
            self.write_timeout_seconds,
        )


def descriptors() -> int:
    """Return how many file descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**20 if soft == resource.RLIM_INFINITY else soft


def allow_descriptors(connections: int) -> None:
    """Raise this process's own limit of file descriptors, as far as it may, to what so many connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + DESCRIPTORS_FOR_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
