"""A published run behind a plain web server that counts requests: a cheap remote root."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from datasets.layout import snapshot_path
from datasets.publication.pointers import served
from datasets.snapshot import Snapshot
from datasets.storage import open_storage
from datasets.storage.cache import Cache
from pipeline.snapshot_builder import build_seal
from tests.support.seals import make_seal
from tests.support.web_storage import SCHEME, register

ALPHA = "Test_far"


@dataclass
class Remote:
    """A root on a web server for one test."""

    folder: Path
    url: str = ""
    requests: Counter[str] = field(default_factory=Counter)
    corrupt_transfers: int = 0
    """Number of next answers that get a flipped bit."""
    server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        remote = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments, directory=str(remote.folder))

            def do_GET(self) -> None:
                remote.requests[self.path.lstrip("/")] += 1
                super().do_GET()

            def copyfile(self, source: Any, outputfile: Any) -> None:
                data = source.read()
                if remote.corrupt_transfers:
                    remote.corrupt_transfers -= 1
                    data = bytes([data[0] ^ 1]) + data[1:]
                outputfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        register()
        port = int(self.url.rsplit(":", 1)[1]) if self.url else 0
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"{SCHEME}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def snapshot(self, cache: Cache | None) -> Snapshot:
        storage = open_storage(self.url, cache=cache)
        pointer = served(open_storage(self.folder), ALPHA)
        assert pointer is not None
        return Snapshot(storage, pointer)

    def place(self, relative: str) -> Path:
        pointer = served(open_storage(self.folder), ALPHA)
        assert pointer is not None
        return self.folder / snapshot_path(ALPHA, pointer.snapshot) / relative


@pytest.fixture(scope="session")
def published_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("far")
    build_seal(str(make_seal(folder / "seals", alpha_id=ALPHA, weeks=20)), folder / "root")
    return folder / "root"


@pytest.fixture
def remote(published_run: Path, tmp_path: Path) -> Iterator[Remote]:
    shutil.copytree(published_run, tmp_path / "far")
    result = Remote(tmp_path / "far")
    result.start()
    yield result
    result.stop()


def copies(cache: Cache) -> list[Path]:
    """List the complete copies."""
    return sorted(p for p in cache.folder.rglob("*.parquet") if p.is_file())


def cached_bytes(cache: Cache) -> int:
    """Return the cache's bytes, including drafts."""
    count = 0
    for path in cache.folder.rglob("*"):
        if path.is_file() and ".locks" not in path.parts:
            count += path.stat().st_size
    return count
