"""Signing links of this service's own files."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from datasets.layout import snapshot_path
from schemas.objects.downloads import TABLE_LIFETIME
from serve.downloads.links import AS_BUILT, Signed, base_url, signed_text
from serve.object_signing import WAIT_SECONDS, SigningFailed

if TYPE_CHECKING:
    from serve.downloads.tables import TableFile
    from serve.http.request import Request
    from serve.state import ServerState

_log = structlog.get_logger("serve.downloads")
PARQUET_TYPE: Final = "application/vnd.apache.parquet"


async def signed_url(service: ServerState, request: Request, path: str, expires: int) -> str:
    """Return a link of a file of this service, signed in the name of the calling key."""
    key_id = request.the_caller.key_id
    signature = await service.access.sign_link(key_id, signed_text(path, expires, key_id))
    base = base_url(
        service.public_url,
        request.headers,
        behind_proxies=service.access_settings.trusted_hops > 0,
    )
    return f"{base}{path}?{Signed(expires, key_id, signature).query}"


async def stored_url(service: ServerState, file: TableFile) -> str | None:
    """Have the object store of the datasets sign the address of a published file.

    Returns
    -------
    str or None
        None where the service answers itself: the root is a folder, the file is a view, or nobody can sign for now.
    """
    signer, link = service.table_signer, file.link
    if signer is None or link.view != AS_BUILT:
        return None
    key = f"{snapshot_path(link.alpha, link.snapshot)}/{file.snapshot.entry(link.table, link.book).path}"
    sign = partial(signer.sign, key, link.filename, PARQUET_TYPE, TABLE_LIFETIME)
    try:
        return await asyncio.wait_for(asyncio.to_thread(sign), WAIT_SECONDS)
    except (SigningFailed, TimeoutError) as error:
        _log.warning(
            "tables_not_signed_by_store", alpha_id=link.alpha, kind=str(error) or type(error).__name__
        )
        return None
