"""A floor, not a peer: the same framework and server with constant bodies, loaded at start.

    python -m benchmarks.peers.constant FOLDER PORT

Each file of the folder is served under its name.
"""

from __future__ import annotations

import sys
from pathlib import Path

from litestar import Litestar, Response, get

from benchmarks.peers.routes import run


def _application(folder: Path) -> Litestar:
    bodies = {file.name: file.read_bytes() for file in folder.iterdir()}

    @get("/{name:str}")
    async def constant(name: str) -> Response[bytes]:
        return Response(bodies[name], media_type="application/json")

    return Litestar([constant], openapi_config=None)


if __name__ == "__main__":
    run(_application(Path(sys.argv[1])), int(sys.argv[2]))
