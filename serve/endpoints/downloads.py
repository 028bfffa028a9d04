"""Files: the list of tables, and signed links to a table and to a source archive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

import structlog

from datasets.layout import snapshot_path
from datasets.manifest import FileEntry
from datasets.snapshot import Snapshot
from schemas.downloads import readable_tables
from schemas.errors import ApiError
from schemas.instants import utc_text
from schemas.objects.downloads import TABLE_LIFETIME
from schemas.parameters import BOOK
from schemas.tables import PUBLISHED_TABLES
from serve.downloads.files import TableFile, list_files, list_row, read_entry, select_file
from serve.downloads.links import (
    AS_BUILT,
    PARQUET_TYPE,
    SOURCE,
    WAIT_SECONDS,
    FileLink,
    LinkQuery,
    SigningFailed,
    base_url,
    signed_text,
)
from serve.http.handler import EndpointFunction
from serve.http.params import bad_request
from serve.http.request import Request
from serve.http.responses import Page, Single, run_meta
from serve.pages.books import holds_book
from serve.state import ServerState

_log = structlog.get_logger("serve.downloads")


def tables(service: ServerState, request: Request) -> Page:
    """List the files of a snapshot that the key may download."""
    snapshot = request.snapshot
    meta = run_meta(snapshot, snapshot.alpha_id)
    files = readable_files(snapshot, request)
    return Page.of(files, request.values, meta, partial(list_row, service.table_views))


def readable_files(snapshot: Snapshot, request: Request) -> list[TableFile]:
    """Return the files of a snapshot that the key of a request may download."""
    return list(list_files(snapshot, readable_tables(request.caller.callable_ids), raw=request.raw))


async def download(service: ServerState, request: Request) -> Single:
    """Sign a link to one file; the answer is a credential."""
    file, entry = await service.compute(partial(_requested_file, service, request))
    expires = int(time.time()) + TABLE_LIFETIME
    return Single(
        {
            "table": file.link.table,
            "book": file.link.book,
            "url": await table_url(service, request, file, expires),
            "expires_in": TABLE_LIFETIME,
            "expires_at": utc_text(datetime.fromtimestamp(expires, UTC)),
            "filename": file.link.filename,
            "rows": entry.rows,
            "size_bytes": entry.bytes,
            "sha256": entry.sha256,
        },
        source=f"snapshot {file.snapshot.id}",
        meta=run_meta(request.snapshot, file.snapshot.alpha_id),
    )


def _requested_file(service: ServerState, request: Request) -> tuple[TableFile, FileEntry]:
    """Return the file that a request names.

    Raises
    ------
    ApiError
        ``unknown_book`` as for other endpoints; ``table_not_found`` if the run has no such table or the key may not have
        it, without saying which.
    """
    snapshot, table, book = request.snapshot, request.values["table"], request.values["book"]
    if PUBLISHED_TABLES[table].partition:
        book = BOOK.default if book is None else book
    elif book is not None:
        raise bad_request("book", f"not accepted here: {table} is not stored by book", available=[])
    is_readable = table in readable_tables(request.caller.callable_ids)
    if book is not None and is_readable:
        holds_book(snapshot, table, book, raw=request.raw)
    file = select_file(snapshot, table, book, raw=request.raw) if is_readable else None
    if file is None:
        tables = dict.fromkeys(x.link.table for x in readable_files(snapshot, request))
        raise ApiError(
            "table_not_found",
            "The run has no such table of this book, or this key may not read it; `details.available` lists the tables it may read.",
            {"available": list(tables)},
        )
    return file, read_entry(service.table_views, file)


async def source(service: ServerState, request: Request) -> Single:
    """Sign a link to the source archive; the answer is a credential."""
    snapshot = request.snapshot
    data = await service.source_downloads.offer(snapshot)
    if "url" not in data:
        expires = int(time.time()) + data["expires_in"]
        path = FileLink(snapshot.alpha_id, snapshot.id, SOURCE).path
        host = service.source_downloads.file_host
        data = {"url": await signed_url(service, request, path, expires, host), **data}
    return Single(data, source="archive store", meta=run_meta(request.snapshot))


async def signed_url(
    service: ServerState, request: Request, path: str, expires: int, host: str | None = None
) -> str:
    """Return a link to a file of this service, signed for the calling key.

    Parameters
    ----------
    host
        Base URL of the link; by default where callers reach this service.
    """
    key_id = request.caller.key_id
    signature = await service.access.sign_link(key_id, signed_text(path, expires, key_id))
    behind_proxies = service.access_settings.trusted_hops > 0
    base = base_url(host or service.public_url, request.headers, behind_proxies=behind_proxies)
    return f"{base}{path}?{LinkQuery(expires, key_id, signature).query}"


async def table_url(service: ServerState, request: Request, file: TableFile, expires: int) -> str:
    """Return a link to a file of a table.

    It is signed for the object store of the datasets; the service sends the file itself if the root is a folder, the file is a
    view, or the store cannot sign now.
    """
    signer, link = service.table_signer, file.link
    if signer is not None and link.view == AS_BUILT:
        key = f"{snapshot_path(link.alpha, link.snapshot)}/{file.published.path}"
        sign = partial(signer.sign, key, link.filename, PARQUET_TYPE, TABLE_LIFETIME)
        try:
            return await asyncio.wait_for(asyncio.to_thread(sign), WAIT_SECONDS)
        except (SigningFailed, TimeoutError) as error:
            kind = str(error) or type(error).__name__
            _log.warning("tables_not_signed_by_store", alpha_id=link.alpha, kind=kind)
    return await signed_url(service, request, link.path, expires)


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "catalog.alphas.source.download": source,
    "catalog.alphas.tables.list": tables,
    "catalog.alphas.tables.download": download,
}
