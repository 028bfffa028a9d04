"""Whether the components that answers depend on can be reached, checked every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Protocol

import structlog

from datasets.cache import Cache
from serve.auth.authenticator import Authenticator
from serve.catalog import Catalog
from serve.observability.damage import Damage

_log = structlog.get_logger("serve.observability.health")

LOOK_SECONDS: Final = 5.0
"""Pause between two looks. Health is asked by anybody and as often as they like; it must not be what asks the stores."""
ANSWER_SECONDS: Final = 3.0
"""How long a part may take to answer a look before it counts as away."""


class State(IntEnum):
    """How a part is; the lower, the worse."""

    DOWN = 0
    """What depends on it answers 503."""
    DEGRADED = 1
    """What is cached is answered; what is new or not cached may not be."""
    OK = 2


REQUIRED_COMPONENTS: Final = ("access_store", "limiter", "catalogue")
"""Without one of these no call with a key is answered."""


class Optional(Protocol):
    """A part that a deployment may do without."""

    @property
    def configured(self) -> bool:
        """Whether the deployment has it."""
        ...

    @property
    def healthy(self) -> bool:
        """Whether its last look or call worked."""
        ...


class Components:
    """The states of the parts, refreshed every few seconds.

    Parameters
    ----------
    access
        Its stores of keys and counts are asked; the other parts know by themselves how their last look or call went.
    snapshots, damage
        What is served, and what of it failed a check.
    cache
        Of a remote root.
    optional
        Name -> part.
    """

    def __init__(
        self,
        access: Authenticator,
        snapshots: Catalog,
        damage: Damage,
        cache: Cache | None,
        optional: Mapping[str, Optional],
    ) -> None:
        self._snapshots, self._damage, self._cache, self._optional = snapshots, damage, cache, optional
        self._asked: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "access_store": access.ask_store,
            "limiter": access.require_limiter,
        }
        self._answered = dict.fromkeys(self._asked, State.OK)
        self._logged: dict[str, State] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Look once, then keep looking."""
        await self.look()
        # Disks may take their time, and must not keep a store that is away from being noticed.
        self._tasks = [asyncio.create_task(self._repeat(look)) for look in (self.look, self._look_at_files)]

    async def stop(self) -> None:
        """Stop looking."""
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @property
    def states(self) -> Mapping[str, State]:
        """Part -> how it is; parts that the deployment does without are not among them."""
        states = {"catalogue": self._catalogue(), **self._answered}
        states["snapshots"] = State.DEGRADED if self._damage.alphas else State.OK
        if self._cache is not None:
            states["cache"] = State.DEGRADED if self._cache.refuses else State.OK
        for name, part in self._optional.items():
            if part.configured:
                states[name] = State.OK if part.healthy else State.DEGRADED
        return MappingProxyType(states)

    @property
    def affected_alphas(self) -> int:
        """How many alphas are not served as they were published: their pointer or their files cannot be relied on."""
        return len(self._snapshots.unreadable.keys() | self._damage.alphas.keys())

    @property
    def healthy(self) -> bool:
        """Whether nothing is amiss."""
        return all(state is State.OK for state in self.states.values())

    def _catalogue(self) -> State:
        if self._snapshots.healthy:
            return State.OK
        return State.DEGRADED if self._snapshots.pointers() else State.DOWN

    async def look(self) -> None:
        """Ask every part that has to be asked, all at once."""
        names = list(self._asked)
        states = await asyncio.gather(*(self._ask(self._asked[name]) for name in names))
        self._answered = dict(zip(names, states, strict=True))
        for name, state in self.states.items():
            if self._logged.get(name, State.OK) is not state:
                log = _log.info if state is State.OK else _log.warning
                log("component_changed", component=name, state=state.name.lower())
        self._logged = dict(self.states)

    @staticmethod
    async def _ask(question: Callable[[], Coroutine[Any, Any, None]]) -> State:
        try:
            await asyncio.wait_for(question(), ANSWER_SECONDS)
        except Exception:  # noqa: BLE001 - whatever it was, the part did not answer
            return State.DOWN
        return State.OK

    async def _look_at_files(self) -> None:
        """Check whether damaged files are intact again."""
        try:
            await asyncio.to_thread(self._damage.check_again)
        except Exception as error:  # noqa: BLE001 - whatever it was, the next look may do better
            _log.warning("files_not_checked", kind=type(error).__name__, reason=str(error))

    @staticmethod
    async def _repeat(look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await look()
