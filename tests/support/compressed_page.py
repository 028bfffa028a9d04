"""A page long enough that it is put together from compressed blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.snapshot_builder import build_seal
from serve.pages.row_blocks import ROWS
from tests.support import plain_http
from tests.support.seals import make_seal
from tests.support.server import served, token_for
from tests.support.waiting import eventually

_ALPHA = "Test_compressed"


class CompressedPage(NamedTuple):
    """Its address, a key for it, and its body as it is without any coding."""

    address: str
    token: str
    body: bytes


@contextmanager
def compressed_page(place: Path) -> Iterator[CompressedPage]:
    """Publish a run, serve it, and wait until its rows are rendered."""
    root, log = place / "published", place / "server.log"
    build_seal(str(make_seal(place, alpha_id=_ALPHA, names=40, weeks=60)), root)
    token = token_for(root)
    with served(root, log=log) as (_, base):
        eventually(lambda: '"preloaded"' in log.read_text())
        address = f"{base}/v1/alphas/{_ALPHA}/scores?limit=5000"
        plain = plain_http.get(
            address, headers={"authorization": f"Bearer {token}", "accept-encoding": "identity"}
        )
        assert plain.json()["pagination"]["returned"] > 10 * ROWS
        yield CompressedPage(address, token, plain.content)
