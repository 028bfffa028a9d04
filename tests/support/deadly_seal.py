"""A check that a seal kills, in a module of its own: the process that runs it imports nothing else of the suite."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from typing import Any

from pipeline.check_apart import answer


def dies_of_a_deadly_seal(pipe: Connection) -> None:
    """Check as ever, but die when a seal of a certain name comes."""

    class Watched:
        def send(self, found: Any) -> None:
            pipe.send(found)

        def recv(self) -> str:
            address: str = pipe.recv()
            if address.endswith("deadly"):
                os.kill(os.getpid(), signal.SIGKILL)
            return address

    answer(Watched())  # type: ignore[arg-type]
