"""Serves signed links to files: checks the signature, the key and its current rights, then sends the file in pieces."""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from schemas.downloads import readable_tables
from schemas.endpoint import Caching
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError, SnapshotCorrupt
from serve.auth.caller import Rights
from serve.compute import CURRENT_REQUEST
from serve.downloads.files import open_file, select_file
from serve.downloads.links import PARQUET_TYPE, SOURCE, FileLink, LinkQuery, signed_text
from serve.http.request import Receive, Request, Scope, Send
from serve.http.responses import matches
from serve.state import ServerState

TABLES: Final = ENDPOINTS["catalog.alphas.tables.download"]
ARCHIVES: Final = ENDPOINTS["catalog.alphas.source.download"]
PIECE: Final = 2**18
"""Bytes of a file in memory per download; the next piece is read once most of this one has been sent."""
MAX_DOWNLOADS: Final = 32
"""Maximum concurrent downloads of a process; each takes a file descriptor."""
MAX_DOWNLOADS_PER_KEY: Final = 16
_HOUR_SECONDS: Final = 3_600.0
_RANGE: Final = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*\Z", re.IGNORECASE)


class OpenFile(NamedTuple):
    """A file to be sent."""

    descriptor: int
    size: int
    sha256: str
    filename: str
    media_type: str


class Files:
    """Serves linked files, as an ASGI application below ``/files``.

    Parameters
    ----------
    service
        Looks up keys and snapshots.
    """

    def __init__(self, service: ServerState) -> None:
        self._service = service
        self._sending: Counter[str] = Counter()
        self._sent: dict[str, tuple[float, int]] = {}
        """Key -> start of its hour, and the bytes sent since."""

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Answer one request; a failure after the first byte ends the connection."""
        request: Request = CURRENT_REQUEST.get()
        path = scope["raw_path"].decode("ascii", "replace")
        link = FileLink.parse(path)
        if link is None:
            raise ApiError("not_found", "No such path.")
        if scope["method"] not in {"GET", "HEAD"}:
            raise ApiError("method_not_allowed", "This path answers GET and HEAD only.")
        endpoint = ARCHIVES if link.view == SOURCE else TABLES
        request.endpoint, request.path = endpoint.id, {"alpha": link.alpha}
        signed = LinkQuery.parse(scope["query_string"])
        holder = await self._service.access.link_holder(
            signed.key_id,
            signed_text(path, signed.expires, signed.key_id),
            signed.signature,
            request.client,
            request.headers,
        )
        request.key_id = holder.key_id
        if signed.expires <= time.time():
            raise ApiError("link_expired", "This link has expired; request another.")
        holder.require_call(endpoint.id)
        holder.require_alpha(endpoint, link.alpha)
        self._require_bytes(holder.key_id)
        with self._count(holder.key_id):
            file = await self._service.compute(partial(self._open, request, link, holder))
            try:
                await self._send(scope["method"], request, file, send)
            finally:
                os.close(file.descriptor)

    def _require_bytes(self, key_id: str) -> None:
        """Refuse a key whose links have sent the bytes allowed per hour; the call limits count only the signing of a link."""
        now = time.monotonic()
        began, sent = self._sent.get(key_id, (now, 0))
        if now - began >= _HOUR_SECONDS:
            self._sent = {key: hour for key, hour in self._sent.items() if now - hour[0] < _HOUR_SECONDS}
        elif sent >= self._service.settings.link_bytes_per_hour:
            raise ApiError(
                "link_bytes_exceeded",
                "The links of this key have sent as many bytes as are allowed in an hour; `Retry-After` says when to try again.",
                headers={"Retry-After": str(math.ceil(began + _HOUR_SECONDS - now))},
            )

    @contextmanager
    def _count(self, key_id: str) -> Iterator[None]:
        """Count a download while it lasts; refuse it if too many are running."""
        if self._sending.total() >= MAX_DOWNLOADS or self._sending[key_id] >= MAX_DOWNLOADS_PER_KEY:
            raise ApiError("upstream_unavailable", "Too many downloads are running; try again.")
        self._sending[key_id] += 1
        try:
            yield
        finally:
            self._sending[key_id] -= 1

    def _open(self, request: Request, link: FileLink, holder: Rights) -> OpenFile:
        snapshots = self._service.snapshots
        snapshot = snapshots.find_pinned(link.alpha, link.snapshot)
        if link.view == SOURCE:
            state, descriptor = self._service.source_downloads.open(snapshot)
            size, sha256 = os.fstat(descriptor).st_size, state.sha256 or state.seal_digest
            return OpenFile(descriptor, size, sha256, state.filename, "application/zip")
        if link.table not in readable_tables(holder.callable_ids):
            raise ApiError("link_invalid", "The key that signed this link may not read this file.")
        request.snapshot = snapshot
        # A key with raw access may also use a link to a view without raw columns.
        views = (holder.expose_raw, False)
        files = (select_file(snapshot, link.table, link.book, raw=raw) for raw in views)
        file = next((x for x in files if x is not None and x.link == link), None)
        if file is None:
            raise ApiError("link_invalid", "The key that signed this link may not read this file.")
        try:
            entry, descriptor = open_file(self._service.table_views, file)
        except SnapshotCorrupt:  # gc may have removed it since the pointer was last read
            snapshots.open_fresh(link.alpha, link.snapshot)
            raise
        return OpenFile(descriptor, entry.bytes, entry.sha256, link.filename, PARQUET_TYPE)

    async def _send(self, method: str, request: Request, file: OpenFile, send: Send) -> None:
        etag, key_id = f'"{file.sha256}"', request.key_id or ""
        headers = {
            "accept-ranges": "bytes",
            "etag": etag,
            "cache-control": Caching.PRIVATE,
        }
        if matches(request.headers.get(b"if-none-match"), etag):
            await _start(send, 304, headers)
            await send({"type": "http.response.body", "body": b""})
            return
        part = None
        if method == "GET" and same_entity(request.header(b"if-range"), etag):
            part = wanted_range(request.header(b"range"), file.size)
        first, end = part or (0, file.size)
        headers |= {
            "content-type": file.media_type,
            "content-disposition": f'attachment; filename="{file.filename}"',
            "content-length": str(end - first),
        }
        if file.media_type == PARQUET_TYPE:  # the entity tag of an archive may be the digest of its seal
            headers["repr-digest"] = f"sha-256=:{b64encode(bytes.fromhex(file.sha256)).decode()}:"
        if part is not None:
            headers["content-range"] = f"bytes {first}-{end - 1}/{file.size}"
        await _start(send, 200 if part is None else 206, headers)
        if method == "HEAD" or first == end:
            await send({"type": "http.response.body", "body": b""})
            return
        while first < end and not request.left:  # uvicorn silently drops data sent after that
            piece = await asyncio.to_thread(os.pread, file.descriptor, min(PIECE, end - first), first)
            if not piece:
                raise OSError(f"{file.filename} became shorter while it was sent")
            first += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": first < end})
            began, sent = self._sent.get(key_id, (time.monotonic(), 0))
            self._sent[key_id] = began, sent + len(piece)


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    fields = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": fields})


def wanted_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the start and the exclusive end of a range.

    Parameters
    ----------
    header
        The value of ``Range``; None when there is none.
    size
        Bytes of the file.

    Returns
    -------
    tuple or None
        None for the complete file: there is no range, its unit is not bytes, it is malformed, or there are several
        ranges, all of which a server may ignore.

    Raises
    ------
    ApiError
        ``range_not_satisfiable`` if it starts beyond the end of the file.
    """
    match = None if header is None else _RANGE.match(header)
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        first, last = max(0, size - int(match[2])), size - 1
    else:
        first, last = int(match[1]), int(match[2]) if match[2] else size - 1
        if match[2] and last < first:
            return None
    if first >= size:
        raise ApiError(
            "range_not_satisfiable",
            "The range begins after the end of the file.",
            headers={"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"},
        )
    return first, min(last + 1, size)


def same_entity(if_range: str | None, etag: str) -> bool:
    """Return whether a range may be answered: there is no ``If-Range``, or it names this file.

    Weak tags and dates never match: the file has a strong tag and no date.
    """
    return if_range is None or if_range.strip() == etag
