"""Free ports of the loopback."""

from __future__ import annotations

import contextlib
import socket


def free_port() -> int:
    """Return a free port."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return distinct free ports, reserved together."""
    with contextlib.ExitStack() as reserved:
        sockets = [reserved.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
