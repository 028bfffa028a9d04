"""Conformance of answers with the OpenAPI document: status, body and headers."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import httpx
import jsonschema_rs

from schemas.documents.openapi import document
from schemas.endpoint import Endpoint

_DOCUMENT = document()
_COMPONENTS = {"components": {"schemas": _DOCUMENT["components"]["schemas"]}}


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference within the document stands for."""
    if "$ref" not in node:
        return node
    result: Any = _DOCUMENT
    for part in node["$ref"].removeprefix("#/").split("/"):
        result = result[part]
    return resolved(result)


def _answers(endpoint: Endpoint) -> dict[str, Any]:
    answers: dict[str, Any] = _DOCUMENT["paths"][endpoint.path]["get"]["responses"]
    return answers


@cache
def _body_validator(endpoint: Endpoint, status: str) -> jsonschema_rs.Validator | None:
    content = resolved(_answers(endpoint)[status]).get("content")
    if content is None:
        return None
    schema = {**content["application/json"]["schema"], **_COMPONENTS}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)


@cache
def _header_validators(
    endpoint: Endpoint, status: str
) -> dict[str, tuple[bool, str, jsonschema_rs.Validator]]:
    results: dict[str, tuple[bool, str, jsonschema_rs.Validator]] = {}
    for name, header in resolved(_answers(endpoint)[status])["headers"].items():
        declared = resolved(header)
        schema = declared["schema"]
        validator = jsonschema_rs.Draft202012Validator(schema)
        results[name.lower()] = (declared.get("required", False), schema["type"], validator)
    return results


def check(endpoint: Endpoint, response: httpx.Response) -> None:
    """Fail unless the answer is one that the document describes for this endpoint."""
    status = str(response.status_code)
    assert status in _answers(endpoint), f"{endpoint.id} answered {status}: {response.text[:300]}"
    validator = _body_validator(endpoint, status)
    if validator is None:
        assert response.content == b""
    else:
        assert response.headers["content-type"] == "application/json"
        problems = [
            (list(x.instance_path), x.message[:300]) for x in validator.iter_errors(strict(response.content))
        ]
        assert not problems, (endpoint.id, status, problems[:5])
    for name, (required, kind, header) in _header_validators(endpoint, status).items():
        given = response.headers.get(name)
        if given is None:
            assert not required, f"{endpoint.id} {status} lacks {name}"
        else:
            assert header.is_valid(int(given) if kind == "integer" else given), f"{name}: {given}"
    known = {*_header_validators(endpoint, status), *TRANSPORT}
    assert set(response.headers) <= known, f"{endpoint.id} {status} sends undocumented headers"


def data_of(endpoint: Endpoint, response: httpx.Response) -> Any:
    """Return the data of an answer, which must be one of 200 that the document describes."""
    assert response.status_code == 200, response.text
    check(endpoint, response)
    return strict(response.content)["data"]


TRANSPORT = {"content-type", "content-length", "content-encoding", "vary"}
"""Standard HTTP headers, which the document need not list."""


def strict(content: bytes) -> Any:
    """Read JSON as written: no NaN, no Infinity, no key twice."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in members}) == len(members), "a key stands twice"
        return dict(members)

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(content, object_pairs_hook=pairs, parse_constant=refuse)
