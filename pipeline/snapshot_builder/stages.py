"""How long each part of a build took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator


class Stages:
    """Times the named parts of a build and tells a listener when one begins.

    Parameters
    ----------
    on_stage
        Called with the name of each stage as it begins.
    """

    def __init__(self, on_stage: Callable[[str], None] | None = None) -> None:
        self._on_stage = on_stage
        self.seconds: dict[str, float] = {}
        """Stage -> wall seconds, in the order run; a stage entered twice is summed."""

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a block under a name."""
        if self._on_stage is not None:
            self._on_stage(name)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
