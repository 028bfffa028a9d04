"""The OpenAPI 3.1 document of the API."""

from __future__ import annotations

import json
from typing import Any, Final

from schemas.documents.openapi.headers import header_definitions
from schemas.documents.openapi.json_schema import Schema, definitions
from schemas.documents.openapi.parameters import parameter_objects, refused_parameters
from schemas.documents.openapi.responses import error_schemas, page_schemas, responses, shared_responses
from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS, registry_version
from schemas.meta import META
from schemas.objects.envelope import PAGINATION

GROUPS: Final[dict[str, str]] = {
    "meta": "The service and the calling key.",
    "catalog": "The alphas and their descriptions.",
    "signals": "Weekly cross-sections and scores.",
    "portfolio": "Books: ledgers, positions, profit and loss, trades and equity.",
    "performance": "Performance and signal-quality figures.",
    "benchmarks": "Market indices to compare with.",
    "research": "Comparisons of alphas, and figures beyond the specification of the API.",
    "admin": "For administrators of the platform.",
}
"""First word of a registry id -> description of the group."""

_INTRODUCTION: Final = """\
Read-only results of alpha runs. Every endpoint answers GET with JSON; any other method or unknown path is answered 404
before a key is read.

- A query parameter that is repeated or unknown is a 400. The 400 lists every invalid parameter, and for an unknown one the
  most similar parameter of the endpoint.
- `from` may not be after `to`.
- An answer about a run names its snapshot. A run may be published again between two pages: pass `meta.snapshot` of the
  first page as `snapshot`, so that all pages are of one build.
- Required fields are always present, and null if undetermined. All other fields are absent if the run never recorded them.
  Fields with `x-raw` are served only with raw-book access.
- Numbers are written with the fewest digits that read back to the same double. `x-unit` is the unit of a number.
- If a run lacks the data of an endpoint, the answer is 200 with an empty page and a `kind_missing` warning.
"""


def document() -> dict[str, Any]:
    """Return the document, a pure function of the declarations."""
    paths = {endpoint.path: {"get": operation(endpoint)} for endpoint in ENDPOINTS.values()}
    shared = shared_responses()
    references = json.dumps([paths, shared])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Alpha Research Results API",
            "version": "1",
            "summary": "Stored research results of trading signals, read-only.",
            "description": _INTRODUCTION,
            "contact": {"name": "Whoever operates this deployment"},
            "license": {"name": "No licence has been granted", "identifier": "LicenseRef-none-granted"},
            "x-registry-version": registry_version(),
        },
        "servers": [{"url": "/", "description": "The host that serves this document."}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": meaning} for name, meaning in GROUPS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "<prefix>_<environment>_<key_id>.<secret>",
                    "description": "An API key, only in the header, never in a URL.",
                }
            },
            "headers": {
                name: x for name, x in header_definitions().items() if f'/headers/{name}"' in references
            },
            "responses": shared,
            "schemas": component_schemas(),
        },
    }


def rendered() -> str:
    """Return the document as JSON, ending in a newline."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def operation(endpoint: Endpoint) -> Schema:
    """Return the operation object of one endpoint."""
    notes = []
    if endpoint.admin:
        notes.append("Only for administrators; other keys get 403 `endpoint_not_allowed`.")
    if endpoint.public:
        notes.append("Needs no key and does not count as a call.")
    notes += refused_parameters(endpoint)
    operation_object: Schema = {
        "operationId": endpoint.id,
        "tags": [endpoint.id.partition(".")[0]],
        "summary": endpoint.summary,
        "description": " ".join([endpoint.summary, *notes]),
        "parameters": parameter_objects(endpoint),
        "responses": responses(endpoint),
    }
    if endpoint.public:
        operation_object["security"] = []
    return operation_object


def component_schemas() -> dict[str, Schema]:
    """Return every schema that operations refer to, by name: payloads, envelopes, errors."""
    served = [payload for endpoint in ENDPOINTS.values() for payload in endpoint.payloads]
    schemas: dict[str, Schema] = {}
    for field in (PAGINATION, *served, *META.values()):
        for model, schema in definitions(field):
            schemas.setdefault(model, schema)
    pages = {name: page for e in ENDPOINTS.values() for name, page in page_schemas(e).items()}
    return dict(sorted((schemas | pages | error_schemas()).items()))
