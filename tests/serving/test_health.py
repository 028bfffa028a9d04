"""The health of the components shows an outage by itself."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from schemas.errors import StorageUnavailable
from serve.observability.health import Components, State
from tests.support.waiting import eventually


class Stores:
    """Stores of keys and counts that may be away."""

    away = False

    async def require_store(self) -> None:
        """Answer."""

    async def require_limiter(self) -> None:
        """Answer, or fail."""
        if self.away:
            raise StorageUnavailable("redis is away")


def test_an_outage_shows_without_a_call() -> None:
    stores = Stores()
    catalogue = SimpleNamespace(healthy=True, broken={})
    damage = SimpleNamespace(alphas={}, recheck=lambda: None)

    async def outage() -> None:
        components = Components(cast("Any", stores), cast("Any", catalogue), cast("Any", damage), None, ())
        await components.start()
        assert components.healthy
        stores.away = True
        await asyncio.to_thread(eventually, lambda: components.states["limiter"] is State.DOWN)
        await components.stop()

    asyncio.run(outage())
