"""Plain web servers, whose files can be read and listed but not written."""

from __future__ import annotations

from typing import Final

from fsspec.implementations.http import HTTPFileSystem

from datasets.storage.cache import Cache
from datasets.storage.object_store import ObjectStorage

EXAMPLE: Final = "web://host:port"


class WebStorage(ObjectStorage):
    """A root on a web server, at ``web://host:port``."""

    def __init__(self, address: str, *, cache: Cache | None = None, single_writer: bool = False) -> None:
        fs = HTTPFileSystem(use_listings_cache=False)
        super().__init__(
            address.replace("web://", "http://", 1), fs, None, cache=cache, single_writer=single_writer
        )

    def _read_tagged(self, relative: str, limit: int) -> tuple[bytes, str]:  # noqa: ARG002
        data: bytes = self.fs.cat_file(self.full(relative))
        return data, ""

    def _put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        raise NotImplementedError

    def url(self, relative: str) -> str:
        return self.full(relative)


BACKEND: Final = WebStorage
