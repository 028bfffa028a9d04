"""What the Python client knows of the interface, written from the declarations: columns, endpoints, methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES
from schemas.field import Field, FieldType
from schemas.listing_parameters import BOUNDS
from schemas.meta import META
from schemas.metrics.headline import HEADLINE
from schemas.parameters import ALPHA_PATH, LIMIT, OFFSET, SNAPSHOT, Parameter, ParameterKind
from schemas.rows import ROWS
from schemas.tables import PUBLISHED_TABLES

_TYPES: Final = {
    FieldType.DATE: "date",
    FieldType.INSTANT: "instant",
    FieldType.NUMBER: "float",
    FieldType.INTEGER: "int",
    FieldType.BOOLEAN: "bool",
    FieldType.TEXT: "text",
}
_MOMENTS: Final = {FieldType.DATE: "date", FieldType.INSTANT: "instant"}
_METHODS: Final = {
    "catalog.alphas.get": "description",
    "signals.rebalances.get": "rebalance",
    "benchmarks.daily": "benchmark",
    "meta.keys": "keys",
    "admin.keys.usage": "key_usage",
    "research.snapshots.compare": "compare_snapshots",
}
"""Registry id -> method, where the path would not give its name."""
_ARGUMENTS: Final = {"from": "start", "to": "end", "symbol": "symbols"}
"""Parameter -> argument of a method, where they differ."""
_HEAD: Final = (
    "# Written by `just docs` from the declarations of the interface; a test fails when it is stale."
)


def client_declarations() -> str:
    """Return the client's module of declarations: endpoints, columns with their types, permanent errors."""
    keys = _argument_keys()
    bounds = {parameter.name for parameter in BOUNDS}
    lines = [
        '"""What the interface declares: endpoints, rows, moments and permanent errors."""',
        "",
        _HEAD,
        "# fmt: off",
        "",
        "from __future__ import annotations",
        "",
        "from typing import NamedTuple",
        "",
        "",
        "class Column(NamedTuple):",
        '    """One column: its type, what it counts, and whether a run or a key may lack it."""',
        "",
        "    name: str",
        "    type: str",
        '    unit: str = ""',
        "    optional: bool = False",
        "    nullable: bool = False",
        "",
        "class Endpoint(NamedTuple):",
        '    """One endpoint: path and parameters, the row or object it answers with and how, its method, and the table its rows are of."""',
        "",
        "    path: str",
        "    row: str",
        "    full_row: str",
        "    collection: bool",
        "    enveloped: bool",
        "    pinned: bool",
        "    in_path: tuple[str, ...]",
        "    query: tuple[str, ...]",
        "    method: str",
        "    summary: str",
        "    arguments: tuple[str, ...]",
        '    table: str = ""',
        "",
        "class Argument(NamedTuple):",
        '    """One argument of a method: the parameter it sets, its annotation, meaning and default."""',
        "",
        "    name: str",
        "    parameter: str",
        "    kind: str",
        "    meaning: str",
        "    required: bool = False",
        "    positional: bool = False",
        "    default: object = None",
        "",
        "ARGUMENTS: dict[str, Argument] = {",
        *(f"    {key!r}: {fact}," for fact, key in keys.items() if key not in bounds),
        "}",
        f"_BOUNDED = {tuple(HEADLINE)!r}",
        *(
            f'ARGUMENTS.update({{f"{end}_{{x}}": Argument(f"{end}_{{x}}", f"{end}_{{x}}", "float | None", f"{meaning}") for x in _BOUNDED}})'
            for end, meaning in _bound_meanings()
        ),
        "",
        "ENDPOINTS: dict[str, Endpoint] = {",
    ]
    lines += [f"    {entry.id!r}: Endpoint({_facts(entry, keys)})," for entry in ENDPOINTS.values()]
    lines += ["}", "", "ROWS: dict[str, tuple[Column, ...]] = {"]
    collections = [entry for entry in ENDPOINTS.values() if entry.shape is Shape.COLLECTION]
    for name, row in {row.name: row for entry in collections for row in entry.payloads}.items():
        lines.append(f"    {name!r}: (")
        lines += [f"        Column({_column(column, field)})," for column, field in _columns("", row)]
        lines.append("    ),")
    lines += ["}", "", "STORED_COLUMNS: dict[str, tuple[str, ...]] = {"]
    for stored_table in dict.fromkeys(filter(None, map(_table, ENDPOINTS.values()))):
        stored = tuple(column.name for column in PUBLISHED_TABLES[stored_table].stored_columns)
        lines.append(f"    {stored_table!r}: {stored!r},")
    lines += ["}", "", "MOMENTS: dict[str, dict[str, str]] = {"]
    named = {entry.row: entry.payload for entry in ENDPOINTS.values()}
    named |= {
        entry.full_payload.name: entry.full_payload for entry in ENDPOINTS.values() if entry.full_payload
    }
    named |= {f"meta {entry.id}": META[entry.id] for entry in collections if entry.id in META}
    for name, payload in named.items():
        moments = {path: _MOMENTS[field.type] for path, field in payload.walk() if field.type in _MOMENTS}
        if moments:
            lines.append(f"    {name!r}: {moments!r},")
    permanent = [code for code, entry in ERROR_CODES.items() if entry.permanent]
    lines += ["}", "", f"PERMANENT_ERRORS = frozenset({permanent!r})"]
    return _text(lines)


def client_stub() -> str:
    """Return the stub of the client's methods: a signature for each endpoint, blocking and asynchronous."""
    lines = [
        '"""Signatures of the methods that are made of `declared.ENDPOINTS`."""',
        "",
        _HEAD,
        "# fmt: off",
        "",
        "import datetime as dt",
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Generic, Literal, TypeVar, Union",
        "",
        "from alpha_results_client.values import Value",
        "",
        'F = TypeVar("F")',
        "Day = Union[str, dt.date]",
    ]
    for define, prefix in (("def", ""), ("async def", "Async")):
        for owner, of_a_run in (("ClientMethods", False), ("RunMethods", True)):
            lines += ["", f"class {prefix}{owner}(Generic[F]):"]
            for name, what in (("_collection", "F"), ("_object", "dict[str, Any]")):
                parameters = "self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]"
                lines.append(f"    {define} {name}({parameters}) -> {what}: ...")
            for endpoint in ENDPOINTS.values():
                if (ALPHA_PATH in endpoint.parameters) == of_a_run:
                    lines += _signature(endpoint, define)
    return _text(lines)


def method_name(endpoint: Endpoint) -> str:
    """Return the client's method for an endpoint: the words of its path after the alpha's, unless it has a name of its own."""
    path = endpoint.path.removeprefix("/v1/").rpartition("{alpha}/")[2]
    words = [word.strip("_").replace("-", "_") for word in path.split("/") if not word.startswith("{")]
    return _METHODS.get(endpoint.id, "_".join(words))


def arguments(endpoint: Endpoint) -> dict[str, Parameter]:
    """Return the arguments of an endpoint's method, positional ones first; paging is the client's own business."""
    left_out = {ALPHA_PATH.name, LIMIT.name, OFFSET.name}
    accepted = [
        x for x in endpoint.parameters if x.name not in left_out and x.kind is not ParameterKind.FORBIDDEN
    ]
    accepted.sort(key=lambda x: not _is_positional(x))
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
    return parameter.in_path or parameter.kind is ParameterKind.BOOK


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
    }.get(parameter.kind, "str")
    if parameter.kind is ParameterKind.CHOICE:
        kind = f"Literal[{', '.join(repr(text) for text, _ in parameter.choices)}]"
    return kind if parameter.required or parameter.default is not None else f"{kind} | None"


def _argument(name: str, parameter: Parameter) -> str:
    """Return the facts of an argument, as its declaration in the client."""
    facts: tuple[Any, ...] = (name, parameter.name, _kind(parameter), parameter.meaning)
    facts += (parameter.required, _is_positional(parameter), parameter.default)
    return f"Argument({', '.join(map(repr, facts))})"


def _argument_keys() -> dict[str, str]:
    """Return the key of every distinct argument: its name, or endpoint and name where an earlier one of the name differs."""
    keys: dict[str, str] = {}
    for endpoint in ENDPOINTS.values():
        for name, parameter in arguments(endpoint).items():
            key = name if name not in keys.values() else f"{endpoint.id} {name}"
            keys.setdefault(_argument(name, parameter), key)
    return keys


def _bound_meanings() -> Iterator[tuple[str, str]]:
    """Yield the ends of the bounds on a figure `x` of the screener, with their meanings."""
    for parameter in BOUNDS[:2]:
        end, _, name = parameter.name.partition("_")
        yield end, parameter.meaning.replace(f"`{name}`", "`{x}`")


def _facts(endpoint: Endpoint, keys: Mapping[str, str]) -> str:
    facts: tuple[Any, ...] = (
        endpoint.path,
        endpoint.row,
        endpoint.full_payload.name if endpoint.full_payload else "",
        endpoint.shape is Shape.COLLECTION,
        endpoint.shape is not Shape.BARE,
        SNAPSHOT in endpoint.parameters,
        tuple(x.name for x in endpoint.parameters if x.in_path),
        tuple(x.name for x in endpoint.query if x.kind is not ParameterKind.FORBIDDEN),
        method_name(endpoint),
        endpoint.summary,
        tuple(keys[_argument(name, parameter)] for name, parameter in arguments(endpoint).items()),
        *filter(None, (_table(endpoint),)),
    )
    return ", ".join(map(repr, facts))


def _table(endpoint: Endpoint) -> str:
    """Return the published table whose rows an endpoint serves as stored; empty where there is none.

    A cross-section is sorted anew, an equity curve is measured anew for its window, and the list of books has an order of its
    own; what is answered for a window is answered as it is stored.
    """
    model = ROWS.get(endpoint.row)
    stored = None if model is None else model.table
    by_window = {"from", "to"} <= {x.name for x in endpoint.query}
    return stored.name if stored and by_window and endpoint.datasets == (stored.name,) else ""


def _columns(prefix: str, field: Field) -> Iterator[tuple[str, Field]]:
    """Yield the columns of a row; the members of an object in it are columns named after both."""
    for member in field.fields:
        name = f"{prefix}{member.name}"
        if member.type is FieldType.OBJECT:
            for column, part in _columns(f"{name}.", member):
                # What may be absent takes its members with it.
                yield column, part.called(part.name, optional=True) if member.optional else part
        elif member.type is FieldType.UNION:
            merged = {part.name: part for variant in member.variants for part in variant.fields}
            common = set.intersection(*({part.name for part in x.fields} for x in member.variants))
            for part in merged.values():
                yield f"{name}.{part.name}", part.called(part.name, optional=part.name not in common)
        else:
            yield name, member


def _column(name: str, field: Field) -> str:
    entries = field.items
    listed = "texts" if entries is not None and entries.type is FieldType.TEXT else "objects"
    kind = _TYPES[field.type] if entries is None else listed
    return f"{name!r}, {kind!r}, {field.counts!r}, {field.optional or field.raw}, {field.nullable}"


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
