"""Requests links to tables, and fetches them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.client import ApiClient
from tests.support.contract_app import FULL

LIST = f"/v1/alphas/{FULL}/tables"


def signed(
    api: ApiClient, token: str, table: str, book: str | None = None, alpha: str = FULL
) -> dict[str, Any]:
    query = "" if book is None else f"?book={book}"
    data = api.json(f"/v1/alphas/{alpha}/tables/{table}/download{query}", token)["data"]
    assert isinstance(data, dict)
    return data


def target(url: str) -> str:
    """Return the path and query of a link."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def fetched(api: ApiClient, url: str, **headers: str) -> httpx.Response:
    return api.get(target(url), headers={name.replace("_", "-"): text for name, text in headers.items()})


def code(response: httpx.Response) -> tuple[int, str]:
    body = response.json()["error"]
    assert body["request_id"] == response.headers["x-request-id"]
    return response.status_code, body["code"]


def signed_by(api: ApiClient, token: str) -> str:
    url = api.get(f"{LIST}/decisions/download", token).json()["data"]["url"]
    assert isinstance(url, str)
    return url
