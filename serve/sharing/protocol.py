"""Requests and answers of the Delta Sharing protocol, without I/O.

Source: PROTOCOL.md of delta-io/delta-sharing, response format ``parquet``.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
import orjson

from datasets.manifest import FileEntry
from schemas.errors import ApiError
from schemas.instants import microseconds
from schemas.tables import PUBLISHED_TABLES
from schemas.units import Type
from serve.downloads.files import TableFile
from serve.http.params import bad_request

SCHEMA: Final = "run"
"""The one schema of each share."""
VERSION_HEADER: Final = "Delta-Table-Version"
PARTITION: Final = "book"
MAX_PAGE: Final = 500
"""Maximum and default number of entries per page; clients that omit ``maxResults`` follow the page tokens."""
_NAMESPACE: Final = uuid.UUID("6d0a0d0c-6e0f-5b6a-9f0e-2c8f6a4b7d11")
_TYPES: Final = {
    Type.DATE: "date",
    Type.TIMESTAMP: "timestamp",
    Type.F64: "double",
    Type.I64: "long",
    Type.BOOL: "boolean",
    Type.STR: "string",
}
_PROTOCOL: Final = {"protocol": {"minReaderVersion": 1}}


class TableQuery(msgspec.Struct, rename="camel"):
    """Known fields of a query's body; others are ignored.

    Without `version` and `timestamp`, a query is about the version served now. After the rows of `limit_hint`, further files may
    be left out.
    """

    predicate_hints: list[Any] | None = None
    json_predicate_hints: str | None = None
    limit_hint: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    version: int | None = None
    timestamp: str | None = None
    starting_version: int | None = None
    ending_version: int | None = None


def parse_query(body: bytes) -> TableQuery:
    """Read the body of a query.

    Raises
    ------
    ApiError
        ``bad_request``, naming the field that is not JSON, has another type, or asks for changes between versions.
    """
    try:
        query = msgspec.json.decode(body or b"{}", type=TableQuery)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request("body", f"must be a JSON object of the protocol: {error}") from error
    if query.starting_version is not None or query.ending_version is not None:
        raise bad_request("startingVersion", "changes between versions are not shared; query one version")
    return query


def parse_number(name: str, text: str) -> int:
    """Parse an integer of a query string; raises ``bad_request``."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise bad_request(name, "must be an integer of at least 0")
    return int(text)


def parse_moment(name: str, text: str) -> datetime:
    """Parse an instant in ISO 8601 with an offset; raises ``bad_request``."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise bad_request(name, "must be a time in ISO 8601, such as 2026-01-31T00:00:00Z") from error
    if moment.tzinfo is None:
        raise bad_request(name, "must have an offset from UTC, such as Z")
    return moment


def snapshot_version(published_at: str) -> int:
    """Return the version of the snapshot first published at an instant: microseconds since 1970.

    A version must always name the same snapshot. Numbers from a count of the kept snapshots would shift when gc removes one.
    """
    return microseconds(datetime.fromisoformat(published_at))


def page(
    names: Sequence[str], max_results: str | None, token: str | None
) -> tuple[Sequence[str], str | None]:
    """Return one page of a list and the token of the next page (the last name); None after the last page.

    Parameters
    ----------
    names
        In ascending order: a page begins after the last name of the previous page, whatever was published meanwhile.
    max_results, token
        Query parameters as sent by the client.

    Raises
    ------
    ApiError
        ``bad_request`` if `max_results` is not a number.
    """
    size = MAX_PAGE if max_results is None else min(parse_number("maxResults", max_results), MAX_PAGE)
    names = [name for name in names if name > (token or "")]
    shown = names[:size]
    return shown, shown[-1] if len(names) > size and shown else None


def table_id(alpha_id: str, table: str) -> str:
    """Return the id of a table, the same in every deployment and version."""
    return str(uuid.uuid5(_NAMESPACE, f"{alpha_id}/{table}"))


def metadata_lines(file: TableFile) -> list[bytes]:
    """Return the first two lines of an answer about the table of a file: the protocol and the table.

    A table stored by book has the book as its partition column.
    """
    table = PUBLISHED_TABLES[file.link.table]
    by_book = bool(table.partition)
    fields = [_field(x.name, _TYPES[x.type], f"{x.meaning} Unit: {x.unit.value}.") for x in file.columns]
    if by_book:
        fields.append(_field(PARTITION, "string", "The book."))
    metadata = {
        "id": table_id(file.link.alpha, table.name),
        "name": table.name,
        "description": table.meaning,
        "format": {"provider": "parquet"},
        "schemaString": orjson.dumps({"type": "struct", "fields": fields}).decode(),
        "partitionColumns": [PARTITION] if by_book else [],
    }
    return [orjson.dumps(_PROTOCOL), orjson.dumps({"metaData": metadata})]


def file_line(file: TableFile, entry: FileEntry, url: str, expires: int) -> bytes:
    """Return the line of one file.

    Parameters
    ----------
    expires
        Unix time in seconds at which the URL expires.
    """
    book, published_at = file.link.book, file.snapshot.published_at
    line = {
        "url": url,
        "id": entry.sha256,
        "partitionValues": {} if book is None else {PARTITION: book},
        "size": entry.bytes,
        "stats": orjson.dumps({"numRecords": entry.rows}).decode(),
        "version": snapshot_version(published_at),
        "timestamp": int(datetime.fromisoformat(published_at).timestamp() * 1000),
        "expirationTimestamp": expires * 1000,
    }
    return orjson.dumps({"file": line})


def error_body(error: ApiError) -> bytes:
    """Return an error in the protocol's form, with the invalid parameters in its message."""
    parameters = (error.details or {}).get("parameters", ())
    invalid = "; ".join(f"{x['name']}: {x['constraint']}" for x in parameters)
    message = f"{error.message} {invalid}." if invalid else error.message
    return orjson.dumps({"errorCode": error.code.upper(), "message": message})


def _field(name: str, kind: str, comment: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {"comment": comment}}
