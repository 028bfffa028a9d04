"""Requests of the protocol, and their equivalents of ``/v1``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx

from tests.support.contract_app import ContractApp

TABLE: Final = "/shares/{share}/schemas/run/tables/{table}"
OPERATIONS: Final[Mapping[str, tuple[str, str]]] = {
    "share": ("GET", "/shares/{share}"),
    "schemas": ("GET", "/shares/{share}/schemas"),
    "tables": ("GET", "/shares/{share}/schemas/run/tables"),
    "all-tables": ("GET", "/shares/{share}/all-tables"),
    "version": ("GET", TABLE + "/version"),
    "metadata": ("GET", TABLE + "/metadata"),
    "query": ("POST", TABLE + "/query"),
}


def send(
    api: ContractApp,
    path: str,
    key: str | None = "reader",
    *,
    method: str = "GET",
    body: Any = None,
    **names: str,
) -> httpx.Response:
    """Send one request below the protocol's path."""
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    target = "/delta-sharing" + path.format(**names)
    request = api.client.client.request(method, target, headers=api.headers(key), content=content)
    return api.client.wait(request)


def operation(
    api: ContractApp, name: str, key: str | None = "reader", share: str = "", table: str = "", **rest: Any
) -> httpx.Response:
    """Call one of the operations."""
    method, path = OPERATIONS[name]
    if method == "POST":
        rest.setdefault("body", {})
    return send(api, path, key, method=method, share=share, table=table, **rest)


def lines(response: httpx.Response) -> list[dict[str, Any]]:
    """Return the lines of an answer about a table."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def files(response: httpx.Response) -> list[dict[str, Any]]:
    """Return the files of a query's answer."""
    return [line["file"] for line in lines(response)[2:]]
