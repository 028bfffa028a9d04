"""Whole tables: the list of files, and the signed address of one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from schemas.endpoints import readable_tables
from schemas.errors import ApiError
from schemas.objects.downloads import TABLE_LIFETIME
from schemas.tables import PUBLISHED_TABLES
from serve.downloads.links import signed_url, stored_url
from serve.downloads.tables import TableFile, asked_for, offered, read_facts, row
from serve.downloads.views import FileFacts
from serve.http.answer import Answer, EndpointFunction, Single
from serve.http.params import refusal
from serve.http.request import Request
from serve.state import ServerState

_DEFAULT_BOOK: Final = "long_short"


async def tables(service: ServerState, request: Request) -> Answer:
    """List the files this key may have of a snapshot."""
    return await service.compute(partial(_tables, service, request))


def _tables(service: ServerState, request: Request) -> Single:
    snapshot, readable = request.the_snapshot, readable_tables(request.the_caller.callable_ids)
    files = offered(snapshot, readable, raw=request.raw)
    return Single(
        {"files": [row(service.table_views, file) for file in files]},
        source=f"snapshot {snapshot.id}",
        meta=request.named(snapshot.alpha_id),
    )


async def download(service: ServerState, request: Request) -> Single:
    """Sign an address of one file; the answer is a credential, so nothing on the way may cache it."""
    file, facts = await service.compute(partial(_asked_for, service, request))
    expires = int(time.time()) + TABLE_LIFETIME
    url = await stored_url(service, file) or await signed_url(service, request, file.link.path, expires)
    return Single(
        {
            "table": file.link.table,
            "book": file.link.book,
            "url": url,
            "expires_in": TABLE_LIFETIME,
            "expires_at": datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "filename": file.link.filename,
            "rows": facts.rows,
            "size_bytes": facts.size,
            "sha256": facts.sha256,
        },
        source=f"snapshot {file.snapshot.id}",
        meta=request.named(file.snapshot.alpha_id),
        cache_control="no-store",
    )


def _asked_for(service: ServerState, request: Request) -> tuple[TableFile, FileFacts]:
    table, book = request.values["table"], request.values["book"]
    if PUBLISHED_TABLES[table].partition:
        book = _DEFAULT_BOOK if book is None else book
    elif book is not None:
        broken = [{"name": "book", "constraint": f"not accepted here: {table} is not stored by book"}]
        error = refusal(broken)
        raise ApiError(error.code, error.message, {"parameters": broken, "available": []})
    readable = readable_tables(request.the_caller.callable_ids)
    file = asked_for(request.the_snapshot, table, book, readable, raw=request.raw)
    return file, read_facts(service.table_views, file)


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "catalog.alphas.tables.list": tables,
    "catalog.alphas.tables.download": download,
}
