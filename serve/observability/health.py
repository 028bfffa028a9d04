"""Whether the components that answers depend on can be reached, checked every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import structlog

if TYPE_CHECKING:
    from serve.state import ServerState

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


class Components:
    """The states of the parts, refreshed every few seconds.

    Parameters
    ----------
    service
        Its stores of keys and counts are asked; the other parts know by themselves how their last look or call went.
    """

    def __init__(self, service: ServerState) -> None:
        self._service = service
        self._asked: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "access_store": service.access.ask_store,
            "limiter": service.access.ask_limiter,
        }
        self._answered = dict.fromkeys(self._asked, State.OK)
        self._told: dict[str, State] = {}
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
        service = self._service
        found = {"catalogue": self._catalogue(), **self._answered}
        found["snapshots"] = State.DEGRADED if service.damage.alphas else State.OK
        if service.cache is not None:
            found["cache"] = State.OK if service.cache.refusal is None else State.DEGRADED
        for name, part in (("market_data", service.market_data), ("archives", service.source_downloads)):
            if part.configured:
                found[name] = State.OK if part.healthy else State.DEGRADED
        return MappingProxyType(found)

    @property
    def affected_alphas(self) -> int:
        """How many alphas are not served as they were published: their pointer or their files cannot be relied on."""
        unreadable, damaged = self._service.snapshots.unreadable, self._service.damage.alphas
        return (
            len(unreadable.keys() | damaged.keys())
            if unreadable and damaged
            else len(unreadable) + len(damaged)
        )

    @property
    def healthy(self) -> bool:
        """Whether nothing is amiss."""
        return all(state is State.OK for state in self.states.values())

    def _catalogue(self) -> State:
        if self._service.snapshots.healthy:
            return State.OK
        return State.DEGRADED if self._service.snapshots.pointers() else State.DOWN

    async def look(self) -> None:
        """Ask every part that has to be asked, all at once."""
        self._service.market_data.look_when_due()
        names = list(self._asked)
        states = await asyncio.gather(*(self._ask(self._asked[name]) for name in names))
        self._answered = dict(zip(names, states, strict=True))
        for name, state in self.states.items():
            if self._told.get(name, State.OK) is not state:
                tell = _log.info if state is State.OK else _log.warning
                tell("component_changed", component=name, state=state.name.lower())
        self._told = dict(self.states)

    @staticmethod
    async def _ask(question: Callable[[], Coroutine[Any, Any, None]]) -> State:
        try:
            await asyncio.wait_for(question(), ANSWER_SECONDS)
        except Exception:  # noqa: BLE001 - whatever it was, the part did not answer
            return State.DOWN
        return State.OK

    async def _look_at_files(self) -> None:
        """Check whether the cache's disk has room again, and whether damaged files are intact again."""
        try:
            if self._service.cache is not None:
                await asyncio.to_thread(self._service.cache.look)
            await asyncio.to_thread(self._service.damage.check_again)
        except Exception as error:  # noqa: BLE001 - whatever it was, the next look may do better
            _log.warning("files_not_checked", kind=type(error).__name__, reason=str(error))

    @staticmethod
    async def _repeat(look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await look()
