"""Proofs that an example of CONTRIBUTING.md works: `python -m tests.contributing.proofs NAME`, in the changed tree.

Each function fails in a tree without its example.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl
import pytest

import datasets
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.documents.metrics_documentation import documentation
from schemas.documents.openapi import rendered
from schemas.documents.parts import PARTS
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from tests.support.administration import open_administration
from tests.support.application import running
from tests.support.keys import bearer
from tests.support.seals import make_seal, rewrite

ALPHA: Final = "Test_example"


def build(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame] | None = None) -> Path:
    """Publish a small run with changed positions and return the root."""
    seal = make_seal(folder / "seals", alpha_id=ALPHA, weeks=14)
    if change is not None:
        rewrite(seal, "positions", change)
    build_seal(str(seal), folder / "root")
    return folder / "root"


def limit(folder: Path) -> None:
    asyncio.run(_limit(folder))
    assert "X-RateLimit-Limit-Hour" in rendered()


async def _limit(folder: Path) -> None:
    settings = AccessSettings(str(folder / "access.sqlite3"), limits_state=folder / "limits")
    async with open_administration(settings, "tests") as acts:
        await acts.accounts.create("a@example.org")
        issued = await acts.keys.issue("a@example.org", "k", rate="per_hour=2")
        wide = await acts.keys.issue("a@example.org", "without")
    access = await Authenticator.open(settings)

    async def call(token: str) -> Any:
        return await access.authorize(bearer(token), None, ENDPOINTS["meta.me"])

    try:
        for left in "10":
            caller = await call(issued.token)
            assert caller.headers["X-RateLimit-Remaining-Hour"] == left
        assert caller.usage.to_json()["remaining_hour"] == 0
        with pytest.raises(ApiError) as refused:
            await call(issued.token)
        assert (refused.value.code, refused.value.status) == ("rate_limit_hour", 429)
        assert refused.value.details == {"window": "hour", "limit": 2}
        assert 3590 < int(refused.value.headers["Retry-After"]) <= 3600
        unlimited = await call(wide.token)
        assert "X-RateLimit-Limit-Hour" not in unlimited.headers
        assert unlimited.record.rate.to_json()["per_hour"] is None
    finally:
        await access.close()


def backend(folder: Path) -> None:
    root, there = build(folder), open_storage("memory://example")
    for file in root.rglob("*"):
        if file.is_file():
            there.put(file.relative_to(root).as_posix(), file.read_bytes())
    opened = datasets.open("memory://example")
    assert list(opened) == [ALPHA]
    local = datasets.open(root)[ALPHA].scan("decisions").collect()
    assert opened[ALPHA].scan("decisions").collect().equals(local)
    seen = there.read_version("pointer")
    assert there.put_if("pointer", b"one", seen.tag)
    assert not there.put_if("pointer", b"two", seen.tag)
    assert there.read("pointer") == b"one"


def column(folder: Path) -> None:
    short = pl.when(pl.col("quantity") < 0).then(0.01)
    root = build(folder, lambda positions: positions.with_columns(borrow_rate=short))
    with running(root) as api:
        rows = api.json(f"/v1/alphas/{ALPHA}/positions?book=long_short", api.key())["data"]
    assert rows
    assert {(row["borrow_rate"], row["quantity"] < 0) for row in rows} == {(0.01, True), (None, False)}
    assert "`borrow_rate`" in PARTS["tables"]()
    assert "borrow_rate" in rendered()


def endpoint(folder: Path) -> None:
    path = "/v1/me/limits"
    with running(build(folder)) as api:
        answer = api.json(path, api.key(rate="per_second=7"))
        assert api.get(path).json()["error"]["code"] == "missing_api_key"
        assert api.get(f"{path}?nonsense=1", api.key()).json()["error"]["code"] == "bad_request"
        denied = api.get(path, api.key(endpoints="meta.me"))
    assert answer["data"]["rate_limit"]["per_second"] == 7
    assert answer["data"]["usage"]["remaining_second"] == 6
    assert denied.json()["error"]["details"] == {"endpoint": "meta.limits"}
    said = orjson.loads(rendered())
    assert said["paths"][path]["get"]["operationId"]
    assert "Limits" in said["components"]["schemas"]


def metric(folder: Path) -> None:
    with running(build(folder)) as api:
        core = api.json(f"/v1/alphas/{ALPHA}/metrics", api.key())["data"]["core"]
        rows = api.json(f"/v1/alphas/{ALPHA}/equity-curve?book=long_short&limit=1000", api.key())["data"]
    returns = pl.Series([row["period_return"] for row in rows]).drop_nulls()
    deviation = returns.std()
    assert isinstance(deviation, float)
    assert abs(core["volatility"]["value"] - deviation * 252**0.5) < 1e-12
    assert (core["volatility"]["unit"], core["volatility"]["source_kind"]) == ("ratio", "derived")
    assert "core.volatility" in documentation()["fields"]


PROOFS: Final = {proof.__name__: proof for proof in (limit, backend, column, endpoint, metric)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PROOFS[sys.argv[1]](Path(made))
