"""A backend of the tests' own: a plain web server, whose files can be read and listed but not written.

The cache is tested on it, wherever the tests run; and that it takes one class and one line is what a new backend takes.
"""

from __future__ import annotations

from fsspec.implementations.http import HTTPFileSystem

from datasets.cache.copies import Cache
from datasets.storage.object_store import ObjectStorage
from datasets.storage.registry import BACKENDS, Backend

SCHEME = "web"


class WebStorage(ObjectStorage):
    """A root on a web server, at ``web://host:port``."""

    def __init__(self, address: str, *, cache: Cache | None = None, single_writer: bool = False) -> None:
        fs = HTTPFileSystem(use_listings_cache=False)
        super().__init__(
            address.replace(f"{SCHEME}://", "http://", 1), fs, None, cache=cache, single_writer=single_writer
        )

    def _read_tagged(self, relative: str) -> tuple[bytes, str]:
        return self.read(relative), ""

    def put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        raise NotImplementedError

    def url(self, relative: str) -> str:
        return self.full(relative)


def register() -> None:
    """Make the backend known to this process, once."""
    backend = Backend((SCHEME,), __name__, WebStorage.__name__, f"{SCHEME}://host:port")
    if backend not in BACKENDS:
        BACKENDS.append(backend)
