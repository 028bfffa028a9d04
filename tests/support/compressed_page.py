"""A page large enough to be compressed on a compute thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.snapshot_builder import build_seal
from serve.http.responses import IMMEDIATE_BYTES
from tests.support import plain_http
from tests.support.seals import make_seal
from tests.support.server import served, token_for

_ALPHA = "Test_compressed"


class CompressedPage(NamedTuple):
    """Its address, a key, and its uncompressed body."""

    address: str
    token: str
    body: bytes


@contextmanager
def compressed_page(place: Path) -> Iterator[CompressedPage]:
    """Publish a run and serve it."""
    root, log = place / "published", place / "server.log"
    build_seal(str(make_seal(place, alpha_id=_ALPHA, names=40, weeks=60)), root)
    token = token_for(root)
    with served(root, log=log) as (_, base):
        address = f"{base}/v1/alphas/{_ALPHA}/scores?limit=5000"
        plain = plain_http.get(
            address, headers={"authorization": f"Bearer {token}", "accept-encoding": "identity"}
        )
        assert len(plain.content) > IMMEDIATE_BYTES
        yield CompressedPage(address, token, plain.content)
