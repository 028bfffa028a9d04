"""Files of the packages in `clients/`, derived from the declarations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES
from schemas.field import Field, FieldType
from schemas.meta import META
from schemas.objects.rows import JSON_TYPES
from schemas.parameters import ALPHA_PATH, LIMIT, OFFSET, Parameter, ParameterKind
from schemas.rows import ROWS
from schemas.tables import PUBLISHED_TABLES, SEALED_TABLES

_TYPES: Final = {
    FieldType.DATE: "date",
    FieldType.INSTANT: "instant",
    FieldType.NUMBER: "float",
    FieldType.INTEGER: "int",
    FieldType.BOOLEAN: "bool",
    FieldType.TEXT: "text",
}
_MOMENTS: Final = {FieldType.DATE, FieldType.INSTANT}
_METHODS: Final = {
    "catalog.alphas.get": "description",
    "signals.rebalances.get": "rebalance",
    "benchmarks.daily": "benchmark",
    "meta.keys": "keys",
    "admin.keys.usage": "key_usage",
    "research.snapshots.compare": "compare_snapshots",
}
"""Registry id -> method, if the method is not named after the path."""
_ARGUMENTS: Final = {"from": "start", "to": "end", "symbol": "symbols"}
"""Parameter -> argument of a method, if their names differ."""


def client_declarations() -> str:
    """Return the client's declarations as JSON: endpoints, columns with their types, moments, permanent errors."""
    collections = [entry for entry in ENDPOINTS.values() if entry.shape is Shape.COLLECTION]
    rows = {row.name: row for entry in collections for row in entry.payloads}
    tables = dict.fromkeys(filter(None, map(_table, ENDPOINTS.values())))
    payloads = {row.name: row for entry in ENDPOINTS.values() for row in entry.payloads}
    payloads |= {f"meta {entry.id}": META[entry.id] for entry in collections if entry.id in META}
    moments = {
        name: {path: _TYPES[field.type] for path, field in payload.walk() if field.type in _MOMENTS}
        for name, payload in payloads.items()
    }
    return _json(
        {
            "endpoints": {entry.id: _endpoint(entry) for entry in ENDPOINTS.values()},
            "rows": {name: [_column(*x) for x in _columns("", row)] for name, row in rows.items()},
            "stored_columns": {
                name: [column.name for column in PUBLISHED_TABLES[name].stored_columns] for name in tables
            },
            "moments": {name: paths for name, paths in moments.items() if paths},
            "permanent_errors": [code for code, entry in ERROR_CODES.items() if entry.permanent],
        }
    )


def seal_columns() -> str:
    """Return the tables of a seal as JSON: key, and the columns that an engine may write with their types."""
    tables = {
        kind: {
            "columns": {x.name: _TYPES[JSON_TYPES[x.type]] for x in table.sealed_columns},
            # Trades have no key: fills are identified by position.
            "key": table.key if {*table.key} <= {column.name for column in table.sealed_columns} else (),
        }
        for kind, table in SEALED_TABLES.items()
    }
    return _json(tables)


_STUB: Final = """\
\"\"\"Signatures of what blocking and asynchronous clients share, and of the methods that are made of `declared.ENDPOINTS`.\"\"\"

# Written by `just docs` from the declarations of the API; a test fails when it is stale.
# fmt: off

import datetime as dt
import os
from collections.abc import Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar, Union, overload

import httpx
import pandas as pd
import polars as pl
from alpha_results_client.asynchronous import AsyncClient, AsyncRun
from alpha_results_client.client import Client, Run
from alpha_results_client.table import Table
from alpha_results_client.values import Value
from typing_extensions import Unpack

F = TypeVar("F")
Day = Union[str, dt.date]

class Options(TypedDict, total=False):
    cache: str | os.PathLike[str] | None
    cache_bytes: int
    retries: int
    longest_wait: float
    timeout: float
    links: bool
    transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None
"""
_CLIENT_STUB: Final = """
class {prefix}ClientMethods(Generic[F]):
    @overload
    def __init__(self: {prefix}Client[pl.DataFrame], base_url: str | None = None, key: str | None = None, *, frames: Literal['polars'] = 'polars', **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    @overload
    def __init__(self: {prefix}Client[pd.DataFrame], base_url: str | None = None, key: str | None = None, *, frames: Literal['pandas'], **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    @overload
    def __init__(self: {prefix}Client[list[dict[str, Any]]], base_url: str | None = None, key: str | None = None, *, frames: Literal['rows'], **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    def __getitem__(self, alpha: str) -> {prefix}Run[F]: ...
    def run(self, alpha: str, snapshot: str | None = None) -> {prefix}Run[F]: ...
    {define} table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    {define} returns(self, alphas: Sequence[str] | None = None, *, book: str = 'long_short', start: Value = None, end: Value = None) -> F: ...
"""
_RUN_STUB: Final = """
class {prefix}RunMethods(Generic[F]):
    {define} pinned(self) -> {prefix}Run[F]: ...
    {define} table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    {define} metrics_frame(self, *, granularity: str = 'overall', **parameters: Value) -> F: ...
"""


def client_stub() -> str:
    """Return the stub of the methods of the blocking and the asynchronous client: shared ones, and one for each endpoint."""
    text = _STUB
    for define, prefix in (("def", ""), ("async def", "Async")):
        for shared, for_one_run in ((_CLIENT_STUB, False), (_RUN_STUB, True)):
            text += shared.format(define=define, prefix=prefix)
            for endpoint in ENDPOINTS.values():
                if (ALPHA_PATH in endpoint.parameters) == for_one_run:
                    text += "".join(f"{line}\n" for line in _signature(endpoint, define))
    return text


def method_name(endpoint: Endpoint) -> str:
    """Return the client's method for an endpoint: the words of its path after the alpha, unless `_METHODS` names it."""
    path = endpoint.path.removeprefix("/v1/").rpartition("{alpha}/")[2]
    words = [word.strip("_").replace("-", "_") for word in path.split("/") if not word.startswith("{")]
    return _METHODS.get(endpoint.id, "_".join(words))


def arguments(endpoint: Endpoint) -> dict[str, Parameter]:
    """Return the arguments of an endpoint's method, positional ones first; the client pages by itself."""
    left_out = {ALPHA_PATH.name, LIMIT.name, OFFSET.name}
    accepted = [
        x for x in endpoint.parameters if x.name not in left_out and x.kind is not ParameterKind.FORBIDDEN
    ]
    accepted.sort(key=lambda x: (not _is_positional(x), not x.required))
    return {x.name if x.in_path else _ARGUMENTS.get(x.name, x.name): x for x in accepted}


def _signature(endpoint: Endpoint, define: str) -> Iterator[str]:
    accepted = arguments(endpoint)
    named = [name for name, x in accepted.items() if not _is_positional(x)]
    shown = [
        f"{name}: {_kind(x)}" + ("" if x.required else f" = {x.default!r}") for name, x in accepted.items()
    ]
    if named:
        shown.insert(len(accepted) - len(named), "*")
    what = "F" if endpoint.shape is Shape.COLLECTION else "dict[str, Any]"
    yield f"    {define} {method_name(endpoint)}({', '.join(['self', *shown])}) -> {what}:"
    yield f'        """{endpoint.summary}"""'


def _is_positional(parameter: Parameter) -> bool:
    is_compared = parameter.kind is ParameterKind.ALPHAS and parameter.required
    return parameter.in_path or parameter.kind is ParameterKind.BOOK or is_compared


def _kind(parameter: Parameter) -> str:
    """Return the annotation of an argument."""
    kind = {
        ParameterKind.DATE: "Day",
        ParameterKind.BOOLEAN: "bool",
        ParameterKind.INTEGER: "int",
        ParameterKind.NUMBER: "float",
        ParameterKind.SYMBOLS: "str | Sequence[str]",
        ParameterKind.ALPHAS: "str | Sequence[str]",
        ParameterKind.NAMES: "str | Sequence[str]",
        ParameterKind.WEIGHTS: "str | Sequence[float]",
    }.get(parameter.kind, "str")
    if parameter.kind is ParameterKind.CHOICE:
        kind = f"Literal[{', '.join(map(repr, parameter.choices))}]"
    return kind if parameter.required or parameter.default is not None else f"{kind} | None"


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    """Return the properties of an endpoint."""
    return {
        "path": endpoint.path,
        "method": method_name(endpoint),
        "summary": endpoint.summary,
        "row": endpoint.row,
        "collection": endpoint.shape is Shape.COLLECTION,
        "enveloped": endpoint.shape is not Shape.BARE,
        "arguments": [_argument(name, parameter) for name, parameter in arguments(endpoint).items()],
        "full_row": endpoint.full_payload.name if endpoint.full_payload else "",
        "table": _table(endpoint),
    }


def _argument(name: str, parameter: Parameter) -> dict[str, Any]:
    return {
        "name": name,
        "parameter": parameter.name,
        "kind": _kind(parameter),
        "meaning": parameter.meaning,
        "required": parameter.required,
        "positional": _is_positional(parameter),
        "default": parameter.default,
    }


def _table(endpoint: Endpoint) -> str:
    """Return the published table whose rows an endpoint serves as stored; empty without one.

    Rows of a window are served as stored. Cross-sections are sorted, equity curves are computed for their window, and the list of
    books has its own order.
    """
    if endpoint.row not in ROWS or not {"from", "to"} <= {x.name for x in endpoint.query}:
        return ""
    table = ROWS[endpoint.row].table.name
    return table if endpoint.datasets == (table,) else ""


def _columns(prefix: str, field: Field) -> Iterator[tuple[str, Field]]:
    """Yield the columns of a row; members of an object in it become columns with dotted names."""
    for member in field.fields:
        name = f"{prefix}{member.name}"
        if member.type is FieldType.OBJECT:
            for column, part in _columns(f"{name}.", member):
                # Members of an optional object are optional.
                yield column, replace(part, optional=True) if member.optional else part
        elif member.type is FieldType.UNION:
            merged = {part.name: part for variant in member.variants for part in variant.fields}
            common = set.intersection(*({part.name for part in x.fields} for x in member.variants))
            for part in merged.values():
                yield f"{name}.{part.name}", replace(part, optional=part.name not in common)
        else:
            yield name, member


def _column(name: str, field: Field) -> dict[str, Any]:
    entries = field.items
    listed = "texts" if entries is not None and entries.type is FieldType.TEXT else "objects"
    kind = _TYPES[field.type] if entries is None else listed
    return {
        "name": name,
        "type": kind,
        "optional": field.optional or field.raw,
        "nullable": field.nullable,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
