"""An application that is loaded after the port is open.

The framework takes as long to load as several other parts of the program together, and plain GETs of our paths do without
it. A thread loads it as soon as the service runs; a request that needs it meanwhile waits for it.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from serve.http.asgi import Application, Receive, Scope, Send

Lifespan = Callable[[], AbstractAsyncContextManager[None]]


class LoadedLater:
    """Passes requests to an application that is made when it is first needed; answers the lifespan by itself.

    Parameters
    ----------
    load
        Makes the application; called once, on another thread.
    lifespan
        What is open while the server runs.
    """

    def __init__(self, load: Callable[[], Application], lifespan: Lifespan) -> None:
        self._load = load
        self._lifespan = lifespan
        self._lock = threading.Lock()
        self._loaded: Application | None = None

    def load_soon(self) -> None:
        """Begin to load the application, without waiting for it."""
        threading.Thread(target=self._application, name="application", daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the lifespan, or have the application answer."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        loaded = self._loaded
        if loaded is None:
            loaded = await asyncio.to_thread(self._application)
        await loaded(scope, receive, send)

    def _application(self) -> Application:
        with self._lock:
            found = self._loaded
            if found is None:
                found = self._loaded = self._load()
                gc.freeze()  # as what was loaded before the port was open
            return found

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        stage = "startup"
        try:
            async with self._lifespan():
                await send({"type": "lifespan.startup.complete"})
                stage = "shutdown"
                await receive()
        except BaseException:
            await send({"type": f"lifespan.{stage}.failed", "message": traceback.format_exc()})
            raise
        await send({"type": "lifespan.shutdown.complete"})
