"""What each release published is answered by every endpoint of this one, over HTTP's own application."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import datasets
from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES
from tests.compatibility.conftest import RELEASES, unpack
from tests.support import conformance
from tests.support.application import running
from tests.support.client import ApiClient

BACK, WHOLE = "Test_back", "Test_whole"
QUERIES: Final = {
    "portfolio.trades": "book=long_short",
    "research.contribution": f"alphas={BACK}",
    "signals.scores": "fields=all",
    "performance.metrics": "panel=1&granularity=monthly",
}
"""Registry id -> the query that makes it answer, or say most."""
OF_AN_ALPHA: Final = tuple(e for e in ENDPOINTS.values() if e.allow_list is not AllowListScope.NONE)
NOT_THERE: Final = ("source_not_ready", "source_download_not_configured", "table_not_found")
"""What an archive lacks."""


@pytest.fixture(scope="module", params=RELEASES)
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(request.param, tmp_path_factory.mktemp("published")) / "root"


@pytest.fixture(scope="module")
def api(root: Path) -> Iterator[ApiClient]:
    with running(root, public_url="http://api") as found:
        yield found


@pytest.fixture(scope="module")
def key(api: ApiClient) -> str:
    return api.key(raw=True)


@pytest.mark.parametrize("alpha", [BACK, WHOLE])
@pytest.mark.parametrize("endpoint", OF_AN_ALPHA, ids=lambda endpoint: endpoint.id)
def test_every_endpoint_of_an_alpha_answers_as_declared(
    api: ApiClient, key: str, root: Path, endpoint: Endpoint, alpha: str
) -> None:
    weeks = datasets.open(root)[alpha].scan("rebalances").collect()["date"]
    path = endpoint.path.format(alpha=alpha, date=weeks[-3], table="rebalances")
    response = api.get(f"{path}?{QUERIES.get(endpoint.id, '')}", key)
    conformance.check(endpoint, response)
    body: dict[str, Any] = json.loads(response.content, parse_constant=pytest.fail)
    if response.status_code != 200:
        assert body["error"]["code"] in NOT_THERE
        assert ERROR_CODES[body["error"]["code"]].status == response.status_code
    elif endpoint.shape is Shape.COLLECTION and not body["data"]:
        # WHOLE was sealed without positions and P&L, BACK without trades.
        assert {warning["code"] for warning in body["meta"]["warnings"]} == {"kind_missing"}


def test_its_alphas_are_listed_and_its_earlier_snapshot_is_answered_by_id(
    api: ApiClient, key: str, root: Path
) -> None:
    listed = {row["alpha_id"]: row for row in api.json("/v1/alphas", key)["data"]}
    assert set(listed) == {BACK, WHOLE}
    names = {path.name.removeprefix("snapshot=") for path in root.glob(f"alphas/alpha_id={BACK}/snapshot=*")}
    (earlier,) = names - {listed[BACK]["snapshot"]}
    now = api.json(f"/v1/alphas/{BACK}/portfolio", key)
    then = api.json(f"/v1/alphas/{BACK}/portfolio?snapshot={earlier}", key)
    assert now["meta"]["snapshot"] == listed[BACK]["snapshot"]
    assert then["meta"]["snapshot"] == earlier
    assert then["data"] != now["data"]
