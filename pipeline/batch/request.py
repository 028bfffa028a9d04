"""Request to build one seal: plain data that goes between processes and machines."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.seal.store import without_secrets


@dataclass(frozen=True, slots=True)
class Request:
    """One seal to build.

    Attributes
    ----------
    seal, root
        Where it is and where it goes. They may hold secrets, so they are never shown, nor on a command line.
    force, archives, exclude, single_writer, strict, seal_keys
        As :func:`pipeline.snapshot_builder.build_seal` takes them.
    """

    seal: str
    root: str
    force: bool = False
    archives: str | None = None
    exclude: tuple[str, ...] = ()
    single_writer: bool = False
    strict: bool = False
    seal_keys: str | None = None

    @property
    def shown(self) -> str:
        """The seal's address as messages show it."""
        return without_secrets(self.seal)
