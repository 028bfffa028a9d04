"""The writing end of a connection."""

from __future__ import annotations

import asyncio
from typing import Any


class Outlet:
    """A transport that drops what is written after its caller left, where the event loop's own raises.

    Parameters
    ----------
    transport
        Whatever is not about writing is its own.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self.close = transport.close
        self._write = transport.write
        self._writelines = transport.writelines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, or drop."""
        if not self.is_closing():
            self._write(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        """Write, or drop."""
        if not self.is_closing():
            self._writelines(pieces)

    def pause_reading(self) -> None:
        """Pause, unless there is nothing to read from."""
        if not self.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume, unless there is nothing to read from."""
        if not self.is_closing():
            self._transport.resume_reading()
