"""Examples, derived from the declarations so that they conform to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schemas.endpoint import Endpoint, Shape
from schemas.field import Field, FieldType
from schemas.meta import META
from schemas.objects.downloads import PARQUET
from schemas.objects.envelope import PAGINATION
from schemas.parameters import CURSOR, DOC, FIELDS
from schemas.warning_codes import CODES

_PLAIN: Final[Mapping[FieldType, Any]] = {
    FieldType.DATE: "2020-03-27",
    FieldType.INSTANT: "2020-03-27T20:00:00Z",
    FieldType.BOOLEAN: False,
    FieldType.ANY: "as sealed",
    FieldType.NULL: None,
}
_TEXTS: Final[Mapping[str, str]] = {
    "alpha": "Test_momentum",
    "alpha_id": "Test_momentum",
    "algo_id": "Test_momentum",
    "run": "Test_momentum",
    "source_alpha_id": "research-17",
    "symbol": "AAPL",
    "key_id": "0123456789abcdef",
    "display_prefix": "ar_live_0123",
    "email": "analyst@example.com",
    "type": "string",
    "period": "2020",
    "filename": "Test_momentum.zip",
    "url": "https://archives.example.com/Test_momentum.zip?signature",
    "doc_url": "/v1/alphas/Test_momentum/metrics/_doc",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "registry_version": "b025f2db4ec2",
    "service": "alpha-results",
    "environment": "live",
    "request_id": "req-7f3c2a",
    "ip": "203.0.113.7",
    "endpoint": "portfolio.ledger",
    "book": "long_short",
    "snapshot": "3f0c9a5be21d47c88e10",
    "current": "3f0c9a5be21d47c88e10",
    "available": "long_short",
    "name": "limit",
    "constraint": "a plain decimal integer from 1 to 5000",
}

_MATCHING: Final = {
    PARQUET: "Test_momentum-rebalances.parquet",
    f"^{CURSOR}$": "AQAGTDQ_L1oAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
}
"""Pattern -> example, for names with several meanings."""


def make_example(field: Field, *, complete: bool = False) -> Any:
    """Return a value that conforms to a declaration; nullable members are not null.

    Parameters
    ----------
    field
        The declaration.
    complete
        Whether to include optional members that every key may see.
    """
    if field.vocabulary:
        return field.vocabulary[0]
    match field.type:
        case FieldType.OBJECT:
            shown = (part for part in field.fields if not part.optional or (complete and not part.raw))
            return {part.name: make_example(part, complete=complete) for part in shown}
        case FieldType.ARRAY:
            entry = field.items
            if entry is None:
                return []
            return [make_example(entry.called(entry.name or field.name), complete=complete)] * max(
                1, int(field.minimum or 0)
            )
        case FieldType.MAP:
            return {}
        case FieldType.UNION:
            return make_example(field.variants[0], complete=complete)
        case FieldType.TEXT:
            return _MATCHING.get(field.pattern or "") or _TEXTS.get(field.name, "text")
        case FieldType.INTEGER | FieldType.NUMBER:
            return _figure(field)
        case _:
            return _PLAIN[field.type]


def answer_examples(endpoint: Endpoint) -> dict[str, Any]:
    """Return the examples of an endpoint's 200 by name: one, or one for each choice of `fields`."""
    payload = endpoint.payload
    if endpoint.shape is Shape.BARE:
        return _named("answer", make_example(payload, complete=True))
    meta = META[endpoint.id]
    # Examples have no warnings or notices.
    meta = replace(meta, fields=tuple(part for part in meta.fields if part.name not in CODES))
    if endpoint.shape is Shape.OBJECT:
        bare = replace(payload, fields=tuple(part for part in payload.fields if not _is_optional_block(part)))
        return _named(
            "answer", {"data": make_example(bare, complete=True), "meta": make_example(meta, complete=True)}
        )
    rows = {"answer": payload}
    if endpoint.full_payload is not None:
        rows = dict(zip(FIELDS.choices, endpoint.payloads, strict=True))
    examples: dict[str, Any] = {}
    for name, row in rows.items():
        page = {
            "data": [make_example(row, complete=True)],
            "pagination": {**make_example(PAGINATION), "limit": 100, "returned": 1, "total": 1},
            "meta": make_example(meta, complete=True) | ({FIELDS.name: name} if len(rows) > 1 else {}),
        }
        examples |= _named(name, page)
    return examples


def _is_optional_block(part: Field) -> bool:
    """Whether a member is only served with a flag of its name, as the long documentation of the metrics."""
    return part.name == DOC.name and part.optional


def _named(name: str, value: Any) -> dict[str, Any]:
    return {name: {"summary": name, "value": value}}


def _figure(field: Field) -> int | float:
    least = field.minimum if field.minimum is not None else 0
    if field.type is FieldType.INTEGER:
        return int(least)
    if field.above is not None:
        least = field.above + 1
    elif field.maximum is not None:
        least = min(least, field.maximum)
    return float(least)
