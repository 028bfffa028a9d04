"""Health of the components, checked every second."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

import structlog

from datasets.storage.cache import Cache
from serve.auth.authenticator import Authenticator
from serve.followed_catalogue import FollowedCatalogue
from serve.market_data.operator_files import OperatorFiles
from serve.observability.damage import Damage

_log = structlog.get_logger("serve.observability.health")

CHECK_SECONDS: Final = 1.0
"""Seconds between two checks of the components. Anyone may call health at any rate, so calls must not reach the stores."""
FILES_SECONDS: Final = 5.0
"""Seconds between two checks of damaged files."""
ANSWER_SECONDS: Final = 3.0
"""Seconds that a component may take to answer a check before it counts as unavailable."""


class State(IntEnum):
    """State of a component; lower is worse."""

    DOWN = 0
    """Calls that depend on it get 503."""
    DEGRADED = 1
    """Cached data are served; new or uncached data may not be."""
    OK = 2


REQUIRED_COMPONENTS: Final = ("access_store", "limiter", "catalogue")
"""Components without which no call with a key is answered."""


class Components:
    """The states of the components, refreshed every second.

    Parameters
    ----------
    access
        Its stores of keys and counts are queried; the other components report their last check.
    snapshots, damage
        The served snapshots, and those that failed a check.
    cache
        Cache of a remote root; None for a local root.
    files
        The operator's files; those that are not configured are no components.
    """

    def __init__(
        self,
        access: Authenticator,
        snapshots: FollowedCatalogue,
        damage: Damage,
        cache: Cache | None,
        files: Sequence[OperatorFiles[Any]],
    ) -> None:
        self._snapshots, self._damage, self._cache, self._files = snapshots, damage, cache, files
        self._probes = {"access_store": access.require_store, "limiter": access.require_limiter}
        self._answered = dict.fromkeys(self._probes, State.OK)
        self._logged: dict[str, State] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Check once, then in the background."""
        await self.check()
        # Separate, so that a slow disk does not delay the checks of the stores.
        self._tasks = [
            asyncio.create_task(self._repeat(self.check, CHECK_SECONDS)),
            asyncio.create_task(self._repeat(self._recheck_files, FILES_SECONDS)),
        ]

    async def stop(self) -> None:
        """Stop checking."""
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @property
    def states(self) -> Mapping[str, State]:
        """Component -> state; without components that are not configured."""
        states = {"catalogue": self._catalogue(), **self._answered}
        states["snapshots"] = State.DEGRADED if self._damage.alphas else State.OK
        if self._cache is not None:
            states["cache"] = State.DEGRADED if self._cache.refuses else State.OK
        for files in self._files:
            if files.configured:
                states[files.name] = State.OK if files.healthy else State.DEGRADED
        return states

    @property
    def affected_alphas(self) -> int:
        """Number of alphas whose pointer or files are damaged."""
        return len(self._snapshots.broken.keys() | self._damage.alphas.keys())

    @property
    def healthy(self) -> bool:
        """Whether all components are OK."""
        return all(state is State.OK for state in self.states.values())

    def _catalogue(self) -> State:
        if self._snapshots.healthy:
            return State.OK
        return State.DEGRADED if self._snapshots.listing.pointers else State.DOWN

    async def check(self) -> None:
        """Check all components concurrently."""
        states = await asyncio.gather(*map(self._probe, self._probes.values()))
        self._answered = dict(zip(self._probes, states, strict=True))
        for name, state in self.states.items():
            if self._logged.get(name, State.OK) is not state:
                log = _log.info if state is State.OK else _log.warning
                log("component_changed", component=name, state=state.name.lower())
        self._logged = dict(self.states)

    @staticmethod
    async def _probe(probe: Callable[[], Coroutine[Any, Any, None]]) -> State:
        try:
            await asyncio.wait_for(probe(), ANSWER_SECONDS)
        except Exception:  # noqa: BLE001 - after any error the component counts as unavailable
            return State.DOWN
        return State.OK

    async def _recheck_files(self) -> None:
        """Check whether damaged files are intact again."""
        try:
            await asyncio.to_thread(self._damage.recheck)
        except Exception as error:  # noqa: BLE001 - the next check may succeed
            _log.warning("files_not_checked", kind=type(error).__name__, reason=str(error))

    @staticmethod
    async def _repeat(check: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await check()
