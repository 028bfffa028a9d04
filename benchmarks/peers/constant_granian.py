"""Not a peer but a floor: Granian answering bodies it was given at its start, by its own interface, RSGI.

    python -m benchmarks.peers.constant_granian FOLDER PORT

Each file of the folder is answered under its name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from granian import Granian

_FOLDER: Final = "BENCH_BODIES"
"""Variable by which the serving process, which imports this module anew, knows the folder."""


class _Constant:
    def __init__(self, folder: Path) -> None:
        self._bodies = {f"/{file.name}": file.read_bytes() for file in folder.iterdir()}

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        body = self._bodies[scope.path]
        protocol.response_bytes(
            200, [("content-type", "application/json"), ("content-length", str(len(body)))], body
        )


if _FOLDER in os.environ:
    app = _Constant(Path(os.environ[_FOLDER]))

if __name__ == "__main__":
    os.environ[_FOLDER] = sys.argv[1]
    Granian(
        f"{__spec__.name}:app",
        address="127.0.0.1",
        port=int(sys.argv[2]),
        interface="rsgi",
        loop="uvloop",
        log_enabled=False,
    ).serve()
