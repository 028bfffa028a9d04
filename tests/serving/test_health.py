"""How soon the health of the components shows an outage."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from schemas.errors import StorageUnavailable
from serve.observability.health import Components, State


class Stores:
    """Stores of keys and counts that may be away."""

    away = False

    async def require_store(self) -> None:
        """Answer."""

    async def require_limiter(self) -> None:
        """Answer, or fail."""
        if self.away:
            raise StorageUnavailable("redis is away")


def test_an_outage_shows_within_seconds_without_a_call() -> None:
    stores = Stores()
    catalogue = SimpleNamespace(healthy=True, broken={})
    damage = SimpleNamespace(alphas={}, recheck=lambda: None)

    async def outage() -> State:
        components = Components(cast("Any", stores), cast("Any", catalogue), cast("Any", damage), None, ())
        await components.start()
        assert components.healthy
        stores.away = True
        await asyncio.sleep(3.0)  # checked every second, on a machine that may be busy
        await components.stop()
        return components.states["limiter"]

    assert asyncio.run(outage()) is State.DOWN
