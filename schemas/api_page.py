"""The interface as a Markdown page, endpoint by endpoint, derived from the declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemas.endpoint import KEY_ERRORS, AllowListScope, Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import CONNECTION_ERRORS, ERROR_CODES, LINK_ERRORS
from schemas.field import Field, FieldType
from schemas.objects import FULL_ROW, PAYLOADS
from schemas.objects.envelope import ERROR_DETAILS, PAGINATION, WARNING
from schemas.objects.meta import META
from schemas.openapi.document import GROUPS, endpoint_group
from schemas.openapi.headers import HEADERS
from schemas.openapi.parameters import sentences
from schemas.openapi.responses import list_codes
from schemas.parameters import Parameter, ParameterKind
from schemas.warning_codes import WARNING_CODES

_TITLE = """\
# The interface

Derived from the declarations in `schemas/`; `just docs` writes it again. The same declarations make the OpenAPI
document, `docs/openapi.json`.

Every endpoint answers GET only. A page is `{data: [...], pagination, meta}`, a single object `{data: {...}, meta}`,
a failure `{error: {code, message, details, request_id}}`.

A query parameter given twice is a 400, and so is a `from` after `to`; one 400 lists every parameter that breaks its
rule, and every one that the endpoint does not take, with the nearest that it does.

A run may be published again between two pages. Pass the first page's `meta.snapshot` on as `snapshot`, and all pages are
of one build until it is removed; then the answer is 404 `snapshot_not_found`.

In the tables of fields, *may be null* says that the key is there with null where nothing could be determined, and
*may be absent* that the key is left out where the run never recorded it. *Raw* fields come only with raw-book
access. `[]` after a name stands for each entry of a list, `{}` for each value of an object whose keys are data.
"""


def api_page() -> str:
    """Return the whole page, ending in one newline."""
    lines = [_TITLE, *_contents()]
    for name, meaning in GROUPS.items():
        lines += [f"## {name}", "", meaning, ""]
        for endpoint in ENDPOINTS.values():
            if endpoint_group(endpoint) == name:
                lines += _endpoint(endpoint)
    lines += _shared_objects()
    lines += _errors()
    lines += _warnings()
    lines += _headers()
    return "\n".join(lines).rstrip("\n") + "\n"


def _contents() -> Iterator[str]:
    yield "| endpoint | registry id | |"
    yield "|---|---|---|"
    for endpoint in ENDPOINTS.values():
        yield f"| [`{endpoint.path}`](#{_anchor(endpoint.path)}) | `{endpoint.id}` | {endpoint.summary} |"
    yield ""


def _anchor(path: str) -> str:
    return "".join(letter for letter in path.lower() if letter.isalnum() or letter in "-_")


def _endpoint(endpoint: Endpoint) -> Iterator[str]:
    yield f"### {endpoint.path}"
    yield ""
    yield endpoint.summary
    yield ""
    yield "; ".join(_traits(endpoint)) + "."
    yield ""
    if endpoint.parameters:
        yield "| parameter | in | default | rule |"
        yield "|---|---|---|---|"
        for parameter in endpoint.parameters:
            yield _parameter(parameter)
        yield ""
    yield from _payload(endpoint)
    own = [code for code in list_codes(endpoint) if code not in _EVERYWHERE]
    if endpoint.public:
        yield f"Errors: {_codes(list_codes(endpoint))}."
    else:
        beside = f"{_codes(own)}, and " if own else ""
        yield f"Errors: {beside}[those of every endpoint behind a key](#errors)."
    yield ""


_EVERYWHERE = ("method_not_allowed", "internal_error", *KEY_ERRORS)
"""Codes that any endpoint behind a key may answer with."""


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(f"`{code}`" for code in codes)


def _traits(endpoint: Endpoint) -> Iterator[str]:
    yield f"Registry id `{endpoint.id}`"
    if endpoint.public:
        yield "needs no key"
    if endpoint.admin:
        yield "for administrators only"
    if endpoint.allow_list is not AllowListScope.NONE:
        yield f"the alpha must be in the key's `allow.{endpoint.allow_list}`"
    yield {
        Shape.COLLECTION: "answers a page",
        Shape.OBJECT: "answers one object",
        Shape.BARE: "answers a body without envelope",
    }[endpoint.shape]


def _parameter(parameter: Parameter) -> str:
    place = "path" if parameter.in_path else "query"
    default = "" if parameter.default is None else f"`{_spelled(parameter.default)}`"
    if parameter.required and not parameter.in_path:
        default = "required"
    if parameter.kind is ParameterKind.FORBIDDEN:
        default = "none accepted"
    return f"| `{parameter.name}` | {place} | {default} | {_cell(' '.join(sentences(parameter)))} |"


def _spelled(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _payload(endpoint: Endpoint) -> Iterator[str]:
    payload = PAYLOADS[endpoint.row]
    title = {Shape.COLLECTION: "Fields of `data[]`", Shape.OBJECT: "Fields of `data`", Shape.BARE: "Fields"}
    yield f"{title[endpoint.shape]}: {payload.meaning}"
    yield ""
    yield from _table(payload)
    if endpoint.row in FULL_ROW:
        more = [field for field in PAYLOADS[FULL_ROW[endpoint.row]].fields if field not in payload.fields]
        yield "With `fields=all` the row also has:"
        yield ""
        yield from _table(Field("", FieldType.OBJECT, "", fields=tuple(more)))
    meta = META.get(endpoint.id)
    if meta is not None and meta.fields:
        yield "Fields of `meta`:"
        yield ""
        yield from _table(meta)


_OWN_SECTION = ("Allow", "FieldPolicy", "RateLimit", "Usage", "Warning")
"""Models described once, below the endpoints."""


def _table(root: Field) -> Iterator[str]:
    yield "| field | type | unit | meaning | notes |"
    yield "|---|---|---|---|---|"
    for path, field, like in _walk(root, "", {}):
        notes = ", ".join([*_notes(field), *([f"members as of `{like}`"] if like else [])])
        yield f"| `{path}` | {_type(field)} | {_cell(field.counts)} | {_cell(field.meaning)} | {notes} |"
    yield ""


_MAX_INLINE_MEMBERS = 5
"""Objects of this many members are spelled out once where several are alike."""


def _walk(field: Field, prefix: str, seen: dict[object, str]) -> Iterator[tuple[str, Field, str]]:
    """Yield each field below an object with its path, and the path of an object it is like, if there is one."""
    for member in field.fields:
        path = f"{prefix}{member.name}"
        inner, step = member, "."
        if member.items is not None:
            inner, step = member.items, "{}." if member.type is FieldType.MAP else "[]."
        members = tuple((part.name, part.type) for part in inner.fields)
        like = seen.get(members, "") if len(members) >= _MAX_INLINE_MEMBERS else ""
        seen.setdefault(members, path)
        yield path, member, like
        if not like and not {member.model, inner.model} & set(_OWN_SECTION):
            yield from _walk(inner, path + step, seen)


def _type(field: Field) -> str:
    if field.items is not None and field.type is FieldType.ARRAY:
        return f"array of {field.items.type}"
    if field.items is not None and field.type is FieldType.MAP:
        return f"map to {field.items.type}"
    return str(field.type)


def _notes(field: Field) -> Iterator[str]:
    if field.model in _OWN_SECTION:
        yield f"see [{field.model}](#{field.model.lower()})"
    if field.raw:
        yield "raw"
    elif field.optional:
        yield "may be absent"
    if field.nullable:
        yield "may be null"
    if field.deprecated:
        yield "deprecated"
    if field.vocabulary:
        yield "one of " + ", ".join(f"`{word}`" for word in field.vocabulary)
    if field.minimum is not None and field.type in (FieldType.INTEGER, FieldType.NUMBER):
        yield f">= {field.minimum:g}"
    if field.maximum is not None and field.type in (FieldType.INTEGER, FieldType.NUMBER):
        yield f"<= {field.maximum:.0f}"
    if field.above is not None:
        yield f"> {field.above:g}"


def _shared_objects() -> Iterator[str]:
    yield "## Objects that several answers hold"
    yield ""
    me = PAYLOADS["me"]
    shared = {field.model: field for field in (PAGINATION, *me.fields) if field.model}
    shared["Warning"] = WARNING.called("", model="Warning")
    for model, field in shared.items():
        yield f"### {model}"
        yield ""
        yield field.meaning
        yield ""
        yield from _table(field)
    allow_list = me["allow"]["endpoints"]
    yield "### AllowList"
    yield ""
    yield "A set of names, in one of three forms:"
    yield ""
    for variant in allow_list.variants:
        keys = ", ".join(
            f"{part.name}: {part.vocabulary[0] if part.vocabulary else '[...]'}" for part in variant.fields
        )
        yield f"- `{{{keys}}}`: {variant.meaning}"
    yield ""


def _errors() -> Iterator[str]:
    yield "## Errors"
    yield ""
    yield f"Any endpoint behind a key may answer {_codes(_EVERYWHERE)}."
    yield ""
    yield (
        f"{_codes(CONNECTION_ERRORS)}, and a `bad_request` about `request`, answer what never became a request of an "
        "endpoint: no key was read, and the connection is closed."
    )
    yield ""
    yield (
        f"{_codes(LINK_ERRORS)} answer links of files, beside the codes of the endpoint that signed the link: a link ends "
        "with what its key may do."
    )
    yield ""
    yield "| code | status | meaning | `details` |"
    yield "|---|---|---|---|"
    for code, entry in ERROR_CODES.items():
        details = ERROR_DETAILS.get(code)
        shown = (
            "null"
            if details is None
            else ", ".join(f"`{x.name}`{'?' if x.optional else ''}" for x in details.fields)
        )
        yield f"| `{code}` | {entry.status} | {_cell(entry.meaning)} | {shown} |"
    yield ""


def _warnings() -> Iterator[str]:
    yield "## Warnings"
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    for code, meaning in WARNING_CODES.items():
        yield f"| `{code}` | {_cell(meaning)} |"


def _headers() -> Iterator[str]:
    yield ""
    yield "## Headers of an answer"
    yield ""
    yield "| header | unit | meaning |"
    yield "|---|---|---|"
    for name, header in HEADERS.items():
        yield f"| `{name}` | {header['schema'].get('x-unit', '')} | {_cell(header['description'])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
