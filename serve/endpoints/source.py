"""The source archive of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from serve.downloads.links import ArchiveLink, signed_url
from serve.http.answer import EndpointFunction, Single
from serve.http.request import Request
from serve.state import ServerState


async def download(service: ServerState, request: Request) -> Single:
    """Sign an address of the archive; the answer is a credential, so nothing on the way may cache it."""
    snapshot = request.the_snapshot
    data = await service.source_downloads.offer(snapshot)
    if "url" not in data:
        expires = int(time.time()) + data["expires_in"]
        path = ArchiveLink(snapshot.alpha_id, snapshot.id).path
        data = {"url": await signed_url(service, request, path, expires), **data}
    return Single(data, source="archive store", meta=request.run_meta, cache_control="no-store")


ROUTES: Final[Mapping[str, EndpointFunction]] = {"catalog.alphas.source.download": download}
