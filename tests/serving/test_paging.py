"""Properties of every collection."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.client import ApiClient

RUN = "/v1/alphas/Test_hand"
COLLECTIONS = [
    "/v1/alphas",
    "/v1/admin/alphas",
    f"{RUN}/rebalances",
    f"{RUN}/rebalances?from=2020-01-04",
    f"{RUN}/rebalances/2020-01-03",
    f"{RUN}/rebalances/2020-01-03?sort=weight&direction=long",
    f"{RUN}/rebalances/2020-01-10",
    f"{RUN}/scores",
    f"{RUN}/scores?symbol=A,B,C&from=2020-01-04&fields=all",
    f"{RUN}/books",
    f"{RUN}/portfolio",
    f"{RUN}/positions?to=2020-01-14",
    f"{RUN}/pnl?symbol=B",
    f"{RUN}/trades?book=long_only",
    f"{RUN}/equity-curve?from=2020-01-08",
    f"{RUN}/portfolio?book=long_short_adjustments",
]


@pytest.fixture(scope="module")
def operator(api: ApiClient) -> str:
    return api.key(admin=True, raw=True)


def page(api: ApiClient, token: str, path: str, limit: int, offset: int) -> Any:
    joint = "&" if "?" in path else "?"
    return api.json(f"{path}{joint}limit={limit}&offset={offset}", token)


@pytest.mark.parametrize("path", COLLECTIONS)
@pytest.mark.parametrize("limit", [1, 3, 7, 5000])
def test_pages_concatenate_to_the_collection(api: ApiClient, operator: str, path: str, limit: int) -> None:
    full = page(api, operator, path, 5000, 0)
    gathered: list[Any] = []
    while True:
        body = page(api, operator, path, limit, len(gathered))
        pagination = body["pagination"]
        assert list(pagination) == ["limit", "offset", "returned", "total", "has_more"]
        assert (pagination["limit"], pagination["offset"]) == (limit, len(gathered))
        assert pagination["returned"] == len(body["data"])
        assert pagination["total"] == len(full["data"])
        gathered += body["data"]
        assert pagination["has_more"] == (len(gathered) < pagination["total"])
        assert body["meta"] == full["meta"]
        if not pagination["has_more"]:
            break
    assert gathered == full["data"]


@pytest.mark.parametrize("path", COLLECTIONS)
@pytest.mark.parametrize("beyond", [0, 1, 10**9, 2**53 - 1])
def test_an_offset_past_the_end_gives_an_empty_page_with_the_right_total(
    api: ApiClient, operator: str, path: str, beyond: int
) -> None:
    total = page(api, operator, path, 5000, 0)["pagination"]["total"]
    body = page(api, operator, path, 5, max(total, beyond))
    assert body["data"] == []
    assert body["pagination"]["total"] == total
    assert body["pagination"]["has_more"] is False
