"""Delta Sharing below ``/delta-sharing``: lists of shares and tables, and the signed files of a table.

Each operation corresponds to an endpoint of ``/v1``, needs that endpoint's grant and counts as one call of it: lists of
shares to :data:`LIST`, tables and their metadata to :data:`TABLES`, a query to :data:`FILES`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import orjson
from litestar import Request, Response, Router, get, post
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException

from datasets.pinned import is_kept
from datasets.publication.history import empty_snapshot_ids, served_at
from datasets.snapshot import Snapshot
from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import AlphaNotPublished, ApiError, SnapshotNotKept
from schemas.objects.downloads import TABLE_LIFETIME
from serve.auth.caller import Caller
from serve.compute import CURRENT_REQUEST
from serve.downloads.files import TableFile, read_entry
from serve.endpoints.downloads import readable_files, table_url
from serve.http.errors import failure_response
from serve.http.page_files import refuse_options
from serve.http.params import bad_request
from serve.http.request import Request as RequestRecord
from serve.sharing import protocol
from serve.sharing.profile import PATH
from serve.sharing.protocol import SCHEMA
from serve.state import ServerState

LIST: Final = ENDPOINTS["catalog.alphas.list"]
TABLES: Final = ENDPOINTS["catalog.alphas.tables.list"]
FILES: Final = ENDPOINTS["catalog.alphas.tables.download"]
MAX_BODY: Final = 2**16
"""Maximum bytes of a query's body."""
_JSON: Final = "application/json; charset=utf-8"
_NDJSON: Final = "application/x-ndjson; charset=utf-8"
_TABLE: Final = "/shares/{share:str}/schemas/{schema:str}/tables/{table:str}"
_NOT_FOUND: Final = "There is no such share, schema or table, or this key may not read it."


def router(service: ServerState) -> Router:
    """Return the routes of the protocol; every answer below the path, errors included, has the protocol's form."""
    sharing = Sharing(service)

    return Router(
        PATH,
        route_handlers=[
            get("/shares")(sharing.shares),
            get("/shares/{share:str}")(sharing.share),
            get("/shares/{share:str}/schemas")(sharing.schemas),
            get(["/shares/{share:str}/schemas/{schema:str}/tables", "/shares/{share:str}/all-tables"])(
                sharing.tables
            ),
            get(_TABLE + "/version")(sharing.version),
            get(_TABLE + "/metadata")(sharing.metadata),
            post(_TABLE + "/query", status_code=200)(sharing.query),
        ],
        guards=[refuse_options],
        exception_handlers={HTTPException: error_response, Exception: error_response},
        request_max_body_size=MAX_BODY,
    )


def error_response(request: Request[Any, Any, Any], error: Exception) -> Any:
    """Return an error in the form of the protocol."""
    if isinstance(error, MethodNotAllowedException):
        error = ApiError("method_not_allowed", f"This path does not answer {request.method}.")
    elif isinstance(error, NotFoundException):
        error = ApiError("not_found", "No such path.")
    elif isinstance(error, HTTPException) and error.status_code < 500:
        error = bad_request("body", f"must be a JSON object of at most {MAX_BODY} bytes")
    return failure_response(error, CURRENT_REQUEST.get(), lambda known, _: protocol.error_body(known))


class Sharing:
    """Answers the operations of the protocol.

    Parameters
    ----------
    service
        State of the server, with its keys and snapshots.
    """

    def __init__(self, service: ServerState) -> None:
        self._service = service

    def __deepcopy__(self, _: object) -> Sharing:
        """Return the same object: Litestar deep-copies handlers, and with a method the object it is bound to."""
        return self

    async def shares(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """List the alphas that the key may list and read."""
        caller, pointers = await self._caller(LIST), self._service.snapshots.listing.pointers
        if not pointers:
            self._service.snapshots.require_known()
        alphas = (x.alpha_id for x in pointers if caller.may_read_alpha(x.alpha_id))
        names = sorted(filter(caller.may_read_run, alphas))
        return _list(request, names, lambda name: {"name": name})

    async def share(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Return one share."""
        snapshot = await self._snapshot(request, LIST)
        return _response(orjson.dumps({"share": {"name": snapshot.alpha_id}}))

    async def schemas(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """List the one schema of a share."""
        snapshot = await self._snapshot(request, LIST)
        row = {"name": SCHEMA, "share": snapshot.alpha_id}
        return _list(request, [SCHEMA], lambda _: row)

    async def tables(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """List the tables of a share that the key may read."""
        snapshot = await self._snapshot(request, TABLES)
        files = await self._service.compute(partial(readable_files, snapshot, CURRENT_REQUEST.get()))
        names = sorted({file.link.table for file in files})
        return _list(
            request,
            names,
            lambda name: {
                "name": name,
                "schema": SCHEMA,
                "share": snapshot.alpha_id,
                "id": protocol.table_id(snapshot.alpha_id, name),
            },
        )

    async def version(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Return the version served, or the first one at or after ``startingTimestamp``, in a header."""
        snapshot = await self._snapshot(request, TABLES)
        await self._table(request, snapshot)
        since = request.query_params.get("startingTimestamp")
        number = protocol.snapshot_version(snapshot.published_at)
        if since is not None:
            moment = protocol.parse_moment("startingTimestamp", since)
            first = protocol.snapshot_version(moment.isoformat())
            versions = [version for version in _versions(snapshot) if version >= first]
            if not versions:
                raise bad_request("startingTimestamp", "must not be later than the version served")
            number = min(versions)
        return _response(b"", {protocol.VERSION_HEADER: str(number)})

    async def metadata(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Return the columns of a table, in an earlier version if ``version`` or ``timestamp`` is given."""
        served = await self._snapshot(request, TABLES)
        number, moment = request.query_params.get("version"), request.query_params.get("timestamp")
        version = None if number is None else protocol.parse_number("version", number)
        snapshot = await self._snapshot_at(served, version, moment)
        files = await self._table(request, snapshot)
        return _lines(snapshot, protocol.metadata_lines(files[0]))

    async def query(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Sign a link to each file of a table. The answer is a credential, so it must not be cached."""
        served = await self._snapshot(request, FILES)
        selected = protocol.parse_query(await request.body())
        snapshot = await self._snapshot_at(served, selected.version, selected.timestamp)
        files = await self._table(request, snapshot)
        lines, rows = protocol.metadata_lines(files[0]), 0
        expires = int(time.time()) + TABLE_LIFETIME
        for file in files:
            if selected.limit_hint is not None and rows >= selected.limit_hint:
                break
            entry = await self._service.compute(partial(read_entry, self._service.table_views, file))
            url = await table_url(self._service, CURRENT_REQUEST.get(), file, expires)
            lines.append(protocol.file_line(file, entry, url, expires))
            rows += entry.rows
        return _lines(snapshot, lines)

    async def _caller(self, endpoint: Endpoint) -> Caller:
        """Check the key in the same order as every endpoint, and count the call."""
        record: RequestRecord = CURRENT_REQUEST.get()
        record.endpoint = endpoint.id
        access = self._service.access
        caller = await access.authorize(record.headers, record.client, endpoint, record)
        record.caller, record.limit_headers, record.raw = caller, caller.headers, caller.expose_raw
        return caller

    async def _snapshot(self, request: Request[Any, Any, Any], endpoint: Endpoint) -> Snapshot:
        """Return the served snapshot of the share in the path."""
        caller, alpha_id = await self._caller(endpoint), request.path_params["share"]
        caller.require_alpha(TABLES, alpha_id)
        snapshot = self._service.snapshots.resolve(alpha_id)
        if snapshot is None:
            self._service.snapshots.require_known(alpha_id)
            raise ApiError("run_not_found", _NOT_FOUND)
        if request.path_params.get("schema", SCHEMA) != SCHEMA:
            raise ApiError("table_not_found", _NOT_FOUND)
        return snapshot

    async def _snapshot_at(self, served: Snapshot, version: int | None, timestamp: str | None) -> Snapshot:
        """Return the snapshot of a version, or the one served at an instant.

        Raises
        ------
        ApiError
            ``bad_request`` if both are given, or the text is not a time; ``snapshot_not_found`` if there is no such snapshot, gc has removed it, or the
            alpha was withdrawn at that moment.
        """
        moment = None if timestamp is None else protocol.parse_moment("timestamp", timestamp)
        if version is not None and moment is not None:
            raise bad_request("timestamp", "must not be given together with version")
        pointer = served.pointer
        if moment is not None:
            snapshot = served_at(pointer, moment)
            if snapshot in empty_snapshot_ids(pointer):
                raise ApiError("snapshot_not_found", "The alpha was withdrawn at this time.")
        elif version is not None:
            snapshot = _versions(served).get(version)
        else:
            return served
        if snapshot is not None:
            with suppress(SnapshotNotKept, AlphaNotPublished):
                find = partial(self._service.snapshots.open_pinned, served.alpha_id, snapshot)
                return await self._service.compute(find)
        raise ApiError("snapshot_not_found", "This version was never published, or gc removed it.")

    async def _table(self, request: Request[Any, Any, Any], snapshot: Snapshot) -> Sequence[TableFile]:
        """Return the files of the table in the path that the key may read."""
        record: RequestRecord = CURRENT_REQUEST.get()
        record.snapshot = snapshot
        files = await self._service.compute(partial(readable_files, snapshot, record))
        selected = [file for file in files if file.link.table == request.path_params["table"]]
        if not selected:
            raise ApiError("table_not_found", _NOT_FOUND)
        return selected


def _versions(served: Snapshot) -> dict[int, str]:
    """Return version -> snapshot id of the served snapshot and of the earlier ones still kept."""
    pointer = served.pointer
    earlier = {
        protocol.snapshot_version(known.published_at): snapshot
        for snapshot, known in pointer.earlier.items()
        if is_kept(pointer, snapshot)
    }
    return {**earlier, protocol.snapshot_version(served.published_at): served.id}


def _list(
    request: Request[Any, Any, Any], names: Sequence[str], row: Callable[[str], Mapping[str, Any]]
) -> Response[bytes]:
    parameters = request.query_params
    shown, token = protocol.page(names, parameters.get("maxResults"), parameters.get("pageToken"))
    continuation = {} if token is None else {"nextPageToken": token}
    return _response(orjson.dumps({"items": [row(name) for name in shown], **continuation}))


def _lines(snapshot: Snapshot, lines: Sequence[bytes]) -> Response[bytes]:
    headers = {protocol.VERSION_HEADER: str(protocol.snapshot_version(snapshot.published_at))}
    return _response(b"\n".join([*lines, b""]), headers, _NDJSON)


def _response(
    body: bytes, headers: Mapping[str, str] | None = None, media_type: str = _JSON
) -> Response[bytes]:
    sent = {**CURRENT_REQUEST.get().limit_headers, **(headers or {}), "cache-control": "no-store"}
    return Response(body, headers=sent, media_type=media_type)
