"""Entity tags, validation, cache rules and content codings."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
import zstandard

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from tests.contract.cases import CASES, COLLECTIONS, arguments_of, every
from tests.support.contract_app import FULL, HIDDEN, ContractApp

STABLE = tuple(e for e in COLLECTIONS if e.id != "meta.keys")
"""Collections whose rows do not count the calls that read them."""
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
    "gzip": gzip.decompress,
}


@every(STABLE)
def test_an_unchanged_page_is_answered_with_304(api: ContractApp, endpoint: Endpoint) -> None:
    arguments, query = arguments_of(api, endpoint), CASES[endpoint.id].query
    first = api.get(endpoint, query, **arguments)
    tag = first.headers["etag"]
    assert tag.startswith('"'), "a strong tag: equal tags are equal bytes"
    for entity_tag in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = api.get(endpoint, query, **arguments, headers={"if-none-match": entity_tag})
        assert again.status_code == 304, entity_tag
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == first.headers["cache-control"]
        assert again.headers["vary"] == first.headers["vary"]
        assert "content-type" not in again.headers
    for other in ('"other"', tag.strip('"'), tag[:-2] + 'x"'):
        again = api.get(endpoint, query, **arguments, headers={"if-none-match": other})
        assert again.status_code == 200, other
        assert again.content == first.content


@every(STABLE)
def test_different_pages_have_different_tags(api: ContractApp, endpoint: Endpoint) -> None:
    arguments, query = arguments_of(api, endpoint), CASES[endpoint.id].query
    tags: dict[str, bytes] = {}
    for paging in ({}, {"limit": 1}, {"limit": 1, "offset": 1}, {"limit": 2}):
        response = api.get(endpoint, {**query, **paging}, **arguments)
        assert tags.setdefault(response.headers["etag"], response.content) == response.content
    assert len(tags) == 4


def test_a_tag_belongs_to_one_alpha_and_one_view(api: ContractApp) -> None:
    asked_of = [(FULL, "raw"), (FULL, "reader"), (HIDDEN, "raw")]
    for name in ("signals.scores", "portfolio.books"):
        tags = {api.get(name, alpha=alpha, key=key).headers["etag"] for alpha, key in asked_of}
        assert len(tags) == 3
    # The entity tag of one key gives another key no access.
    seen = api.get("signals.scores", alpha=FULL, key="raw").headers["etag"]
    other = api.get("signals.scores", alpha=FULL, key="reader", headers={"if-none-match": seen})
    assert other.status_code == 200


def test_equal_requests_share_an_entity_tag(api: ContractApp) -> None:
    for one, two in (
        ({}, {"limit": "100", "offset": "0"}),
        ({"symbol": "SIM001,SIM002"}, {"symbol": "SIM002,SIM001,SIM002"}),
        ({"limit": "7"}, {"limit": "007"}),
    ):
        answers = [api.get("signals.scores", query, alpha=FULL) for query in (one, two)]
        assert answers[0].headers["etag"] == answers[1].headers["etag"]
        assert answers[0].content == answers[1].content


def test_pages_of_other_rows_or_columns_have_other_entity_tags(api: ContractApp) -> None:
    day = api.rows("signals.rebalances.list", alpha=FULL)[3]["date"]
    queries: tuple[dict[str, str], ...] = (
        {},
        {"fields": "all"},
        {"symbol": "SIM001"},
        {"symbol": "SIM002"},
        {"from": day},
        {"to": day},
    )
    assert len({api.get("signals.scores", query, alpha=FULL).headers["etag"] for query in queries}) == 6


@every(e for e in ENDPOINTS.values() if e.id != "catalog.alphas.source.download")
def test_cache_control_is_as_documented(api: ContractApp, endpoint: Endpoint) -> None:
    response = api.get(endpoint, CASES[endpoint.id].query, **arguments_of(api, endpoint))
    assert response.headers["cache-control"] == endpoint.caching
    assert ("etag" in response.headers) == (endpoint.shape is Shape.COLLECTION)
    assert "accept-encoding" in response.headers["vary"].lower()


def test_the_metrics_documentation_is_identical_for_every_call(
    api: ContractApp,
) -> None:
    answers = [
        api.get("performance.metrics.doc", alpha=alpha, key=key, headers={"x-request-id": name})
        for alpha, key, name in (
            (FULL, "raw", "one"),
            (FULL, "raw", "two"),
            (FULL, "reader", "three"),
            (HIDDEN, "administrator", "four"),
            (FULL, "counted", "five"),
        )
    ]
    assert answers[0].headers["cache-control"] == "public, max-age=86400, immutable"
    for answer in answers:
        assert answer.content == answers[0].content
        assert dict(answer.headers) == dict(answers[0].headers), "a shared cache keeps the headers too"
        assert not [x for x in answer.headers if x.startswith("x-")], "nothing of the call in them"
    assert answers[0].json()["meta"] == {"source": "declarations of the build"}
    embedded = api.ok("performance.metrics", {"doc": "1"}, alpha=FULL)["data"]["doc"]
    assert embedded == answers[0].json()["data"]


def test_a_call_for_the_metrics_documentation_is_counted(api: ContractApp) -> None:
    before = api.ok("meta.me", key="counted")["data"]["usage"]["day"]
    assert api.get("performance.metrics.doc", alpha=FULL, key="counted").status_code == 200
    assert api.ok("meta.me", key="counted")["data"]["usage"]["day"] == before + 2


@pytest.mark.parametrize("coding", ["zstd", "gzip"])
def test_a_compressed_body_has_its_own_entity_tag(api: ContractApp, coding: str) -> None:
    endpoint = ENDPOINTS["signals.scores"]
    plain = api.get(endpoint, alpha=FULL)
    line = f"/v1/alphas/{FULL}/scores"
    coded = api.client.undecoded("GET", line, api.headers("raw", {"accept-encoding": coding}))
    assert coded.headers["content-encoding"] == coding
    assert DECODERS[coding](coded.content) == plain.content
    assert len(coded.content) < len(plain.content)
    assert coded.headers["etag"] != plain.headers["etag"]
    again = api.get(
        endpoint, alpha=FULL, headers={"accept-encoding": coding, "if-none-match": coded.headers["etag"]}
    )
    assert again.status_code == 304


def test_errors_are_not_cacheable(api: ContractApp) -> None:
    for response in (
        api.get("signals.scores", {"limit": "0"}, alpha=FULL),
        api.get("signals.scores", alpha="Test_nowhere"),
        api.get("meta.me", key=None),
    ):
        assert response.headers["cache-control"] == "no-store"
        assert "etag" not in response.headers
