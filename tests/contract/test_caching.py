"""Entity tags, validation, cache rules and content codings."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import brotli
import pytest
import zstandard

from schemas.endpoints import ENDPOINTS, Endpoint, Shape
from schemas.openapi.headers import cache_control
from tests.contract.cases import CASES, COLLECTIONS, asked, every
from tests.contract.world import FULL, HIDDEN, World

STABLE = tuple(e for e in COLLECTIONS if e.id != "meta.keys")
"""Collections whose rows do not count the calls that read them."""
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
    "br": lambda body: bytes(brotli.decompress(body)),
    "gzip": gzip.decompress,
}


@every(STABLE)
def test_a_page_one_holds_already_is_not_sent_again(world: World, endpoint: Endpoint) -> None:
    arguments, query = asked(world, endpoint), CASES[endpoint.id].query
    first = world.get(endpoint, query, **arguments)
    tag = first.headers["etag"]
    assert tag.startswith('"'), "a strong tag: equal tags are equal bytes"
    for held in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = world.get(endpoint, query, **arguments, headers={"if-none-match": held})
        assert again.status_code == 304, held
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == first.headers["cache-control"]
        assert again.headers["vary"] == first.headers["vary"]
    for other in ('"other"', tag.strip('"'), tag[:-2] + 'x"'):
        again = world.get(endpoint, query, **arguments, headers={"if-none-match": other})
        assert again.status_code == 200, other
        assert again.content == first.content


@every(STABLE)
def test_different_pages_have_different_tags(world: World, endpoint: Endpoint) -> None:
    arguments, query = asked(world, endpoint), CASES[endpoint.id].query
    tags: dict[str, bytes] = {}
    for paging in ({}, {"limit": 1}, {"limit": 1, "offset": 1}, {"limit": 2}):
        response = world.get(endpoint, {**query, **paging}, **arguments)
        assert tags.setdefault(response.headers["etag"], response.content) == response.content
    assert len(tags) == 4


def test_a_tag_belongs_to_one_alpha_and_one_view(world: World) -> None:
    asked_of = [(FULL, "raw"), (FULL, "reader"), (HIDDEN, "raw")]
    for name in ("signals.scores", "portfolio.books"):
        tags = {world.get(name, alpha=alpha, key=key).headers["etag"] for alpha, key in asked_of}
        assert len(tags) == 3
    # A tag of what one key sees opens nothing to another.
    seen = world.get("signals.scores", alpha=FULL, key="raw").headers["etag"]
    other = world.get("signals.scores", alpha=FULL, key="reader", headers={"if-none-match": seen})
    assert other.status_code == 200


def test_equal_questions_share_a_tag(world: World) -> None:
    for one, two in (
        ({}, {"limit": "100", "offset": "0"}),
        ({"symbol": "SIM001,SIM002"}, {"symbol": "SIM002,SIM001,SIM002"}),
        ({"limit": "7"}, {"limit": "007"}),
    ):
        answers = [world.get("signals.scores", query, alpha=FULL) for query in (one, two)]
        assert answers[0].headers["etag"] == answers[1].headers["etag"]
        assert answers[0].content == answers[1].content


@every(e for e in ENDPOINTS.values() if e.id != "catalog.alphas.source.download")
def test_the_cache_rule_is_the_documented_one(world: World, endpoint: Endpoint) -> None:
    response = world.get(endpoint, CASES[endpoint.id].query, **asked(world, endpoint))
    assert response.headers["cache-control"] == cache_control(endpoint)
    assert ("etag" in response.headers) == (endpoint.shape is Shape.COLLECTION)
    assert "accept-encoding" in response.headers["vary"].lower()


def test_the_documentation_of_the_metrics_is_the_same_bytes_for_every_caller_and_call(world: World) -> None:
    answers = [
        world.get("performance.metrics.doc", alpha=alpha, key=key, headers={"x-request-id": name})
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
    embedded = world.ok("performance.metrics", {"doc": "1"}, alpha=FULL)["data"]["doc"]
    assert embedded == answers[0].json()["data"]


def test_a_call_for_the_documentation_is_counted_all_the_same(world: World) -> None:
    before = world.ok("meta.me", key="counted")["data"]["usage"]["day"]
    assert world.get("performance.metrics.doc", alpha=FULL, key="counted").status_code == 200
    assert world.ok("meta.me", key="counted")["data"]["usage"]["day"] == before + 2


@pytest.mark.parametrize("coding", ["zstd", "br", "gzip"])
def test_a_coded_body_is_the_same_body_under_a_tag_of_its_own(world: World, coding: str) -> None:
    endpoint = ENDPOINTS["signals.scores"]
    plain = world.get(endpoint, alpha=FULL)
    line = f"/v1/alphas/{FULL}/scores"
    coded = world.running.raw("GET", line, world.headers("raw", {"accept-encoding": coding}))
    assert coded.headers["content-encoding"] == coding
    assert DECODERS[coding](coded.content) == plain.content
    assert len(coded.content) < len(plain.content)
    assert coded.headers["etag"] != plain.headers["etag"]
    again = world.get(
        endpoint, alpha=FULL, headers={"accept-encoding": coding, "if-none-match": coded.headers["etag"]}
    )
    assert again.status_code == 304


def test_errors_are_kept_by_nobody(world: World) -> None:
    for response in (
        world.get("signals.scores", {"limit": "0"}, alpha=FULL),
        world.get("signals.scores", alpha="Test_nowhere"),
        world.get("meta.me", key=None),
    ):
        assert response.headers["cache-control"] == "no-store"
        assert "etag" not in response.headers
