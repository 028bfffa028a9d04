"""The source archive of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from serve.http.answer import Answer, EndpointFunction, Pending, Single
from serve.http.request import Request
from serve.state import ServerState


def download(service: ServerState, request: Request) -> Pending[Answer]:
    """Sign an address of the archive; the answer is a credential, so nothing on the way may cache it."""
    return Pending(partial(_download, service, request))


async def _download(service: ServerState, request: Request) -> Single:
    return Single(
        await service.source_downloads.offer(request.the_snapshot),
        source="archive store",
        meta=request.run_meta,
        cache_control="no-store",
    )


ROUTES: Final[Mapping[str, EndpointFunction]] = {"catalog.alphas.source.download": download}
