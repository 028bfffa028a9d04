"""The source archive of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from serve.http.answer import Answerer, Single
from serve.http.context import Context


async def download(context: Context) -> Single:
    """Sign an address of the archive; the answer is a credential, so nothing on the way may keep it."""
    snapshot = context.snapshot
    return Single(
        await context.service.source_downloads.offer(snapshot),
        source="archive store",
        meta=context.run_meta,
        cache_control="no-store",
    )


ROUTES: Final[Mapping[str, Answerer]] = {"catalog.alphas.source.download": download}
