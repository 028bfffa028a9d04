"""Every endpoint under every condition of the calling key, over HTTP from a running program.

What a key that may read little can see of an alpha it may not is compared byte for byte with what it sees of one
that does not exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES
from schemas.parameters import ParameterKind
from tests.contract.cases import CASES, OF_AN_ALPHA, WEEK, every
from tests.support import contract_app, plain_http
from tests.support.administration import open_administration
from tests.support.conformance import check, strict
from tests.support.contract_app import ABSENT, ADMINISTRATOR, FULL, HIDDEN, Keys
from tests.support.keys import WIDE

HERE: Final = "127.0.0.1"
PRIVATE: Final = tuple(e for e in ENDPOINTS.values() if not e.public)
ADMIN_ONLY: Final = tuple(e for e in PRIVATE if e.admin)


@dataclass(frozen=True)
class Condition:
    """A state of the calling key, and the code it is answered with.

    Attributes
    ----------
    key
        Name of a key in that state; None for a call without one. ``{endpoint}`` stands for the endpoint's id.
    code
        Error code of the refusal; empty if the call is answered.
    alpha
        The requested alpha, for an endpoint of an alpha.
    """

    key: str | None
    code: str
    alpha: str = FULL


CONDITIONS: Final[Mapping[str, Condition]] = {
    "no key": Condition(None, "missing_api_key"),
    "malformed": Condition("malformed", "malformed_api_key"),
    "unknown": Condition("unknown", "invalid_api_key"),
    "wrong secret": Condition("wrong_secret", "invalid_api_key"),
    "suspended": Condition("suspended", "key_suspended"),
    "revoked": Condition("revoked", "key_revoked"),
    "expired": Condition("expired", "key_expired"),
    "inactive account": Condition("former", "account_inactive"),
    "wrong address": Condition("elsewhere", "ip_not_allowed"),
    "endpoint not listed": Condition("all but {endpoint}", "endpoint_not_allowed"),
    "alpha not listed": Condition("tester", "{allow_list}", HIDDEN),
    "alpha not listed and not there": Condition("tester", "{allow_list}", ABSENT),
    "right": Condition("administrator", ""),
    "right, of a listed alpha": Condition("tester", ""),
}
NOT_GIVEN: Final = {"catalog.alphas.source.download": "source_download_not_configured"}
"""Registry id -> what the right key is answered, where this deployment lacks something."""
OF_THE_LIST: Final = {
    AllowListScope.ALPHAS: "alpha_not_allowed",
    AllowListScope.RUNS: "run_not_allowed",
    AllowListScope.NONE: "",
}


async def _issue(folder: Path) -> dict[str, str]:
    """Issue the keys of this suite, an administrator's so that no endpoint is closed."""
    everything: dict[str, Any] = {"alphas": "all", "runs": "all", "rate": WIDE}
    testing = {"alphas": "prefix:Test_", "runs": "prefix:Test_"}
    grants = {f"all but {e.id}": {"endpoints": ",".join(sorted(ENDPOINTS.keys() - {e.id}))} for e in PRIVATE}
    grants |= {
        "tester": {"endpoints": "all", **testing},
        "reads descriptions": {"endpoints": "all", "runs": "list:none"},
        "reads data": {"endpoints": "all", "alphas": "list:none"},
    }
    async with open_administration(contract_app.access_settings(folder), "the suite") as administration:
        return {
            name: (await administration.keys.issue(ADMINISTRATOR, name, **{**everything, **own})).token
            for name, own in grants.items()
        }


@dataclass(frozen=True)
class Deployment:
    """A running program and the keys it knows."""

    client: httpx.Client
    tokens: Mapping[str, str]
    places: Mapping[str, str]

    def get(
        self,
        endpoint: Endpoint,
        key: str | None,
        *,
        alpha: str = FULL,
        query: Mapping[str, str] | None = None,
        **headers: str,
    ) -> httpx.Response:
        path = {
            name: alpha if name == "alpha" else value.format(**self.places)
            for name, value in CASES[endpoint.id].path.items()
        }
        line = contract_app.target(endpoint, CASES[endpoint.id].query if query is None else query, path)
        bearer = {} if key is None else {"authorization": f"Bearer {self.tokens[key]}"}
        sent = {**bearer, **{name.replace("_", "-"): value for name, value in headers.items()}}
        response = self.client.get(line, headers=sent)
        del response.headers["date"]  # a header of the server, not of the program
        check(endpoint, response)
        return response


@pytest.fixture(scope="module")
def deployment(root: Path, prices: Path, keys: Keys, folder: Path) -> Iterator[Deployment]:
    tokens = {**keys.tokens, **asyncio.run(_issue(folder))}
    with (
        contract_app.served_over_sockets(root, prices, folder, "limits-matrix") as url,
        plain_http.connect(base_url=url, headers={"accept-encoding": "identity"}) as client,
    ):
        own = {"authorization": f"Bearer {tokens['reader']}"}
        weeks = client.get(f"/v1/alphas/{FULL}/rebalances", headers=own).json()["data"]
        week = next(row["date"] for row in weeks if row["week_status"] == "traded")
        yield Deployment(client, tokens, {WEEK.strip("{}"): week, "key": keys.ids["reader"]})


def expected_code(endpoint: Endpoint, condition: Condition) -> str:
    if condition.code == "{allow_list}":
        return OF_THE_LIST[endpoint.allow_list] or (
            # The key's list of alphas is irrelevant here: the alpha exists or does not.
            "alpha_not_found" if condition.alpha == ABSENT and "alpha" in CASES[endpoint.id].path else ""
        )
    return condition.code or NOT_GIVEN.get(endpoint.id, "")


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@every(PRIVATE)
def test_each_state_of_a_key_has_one_answer(
    deployment: Deployment, endpoint: Endpoint, condition: Condition
) -> None:
    key = None if condition.key is None else condition.key.format(endpoint=endpoint.id)
    response = deployment.get(endpoint, key, alpha=condition.alpha, x_request_id="asked-by-the-matrix")
    code = expected_code(endpoint, condition)
    names_the_call = code or not endpoint.shared
    assert response.headers.get("x-request-id") == ("asked-by-the-matrix" if names_the_call else None)
    if not code:
        assert response.status_code == 200, response.text
        return
    body = strict(response.content)
    assert list(body) == ["error"]
    assert list(body["error"]) == ["code", "message", "details", "request_id"]
    assert (response.status_code, body["error"]["code"]) == (ERROR_CODES[code].status, code)
    assert code in endpoint.all_errors
    assert body["error"]["request_id"] == "asked-by-the-matrix"
    assert body["error"]["message"].endswith(".")
    assert "retry-after" not in response.headers
    details: dict[str, Any] = {
        "ip_not_allowed": {"ip": HERE},
        "endpoint_not_allowed": {"endpoint": endpoint.id},
    }
    assert body["error"]["details"] == details.get(code)
    assert ("www-authenticate" in response.headers) == (response.status_code == 401)
    assert ("x-ratelimit-limit-day" in response.headers) == (response.status_code != 401)
    assert response.headers["cache-control"] == "no-store"
    if response.status_code == 403:
        assert condition.alpha not in response.text


@every(PRIVATE)
def test_the_allow_lists_of_alphas_and_runs_guard_their_own_endpoints(
    deployment: Deployment, endpoint: Endpoint
) -> None:
    for key, closed in (("reads descriptions", AllowListScope.RUNS), ("reads data", AllowListScope.ALPHAS)):
        response = deployment.get(endpoint, key)
        code = (
            OF_THE_LIST[endpoint.allow_list]
            if endpoint.allow_list is closed
            else NOT_GIVEN.get(endpoint.id, "")
        )
        if closed is AllowListScope.RUNS and any(p.kind is ParameterKind.ALPHAS for p in endpoint.query):
            code = "run_not_allowed"  # of the alphas in its query
        if code:
            assert response.json()["error"]["code"] == code
        else:
            assert response.status_code == 200


def outwardly(response: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """Return an answer without its call counts."""
    headers = {
        name: value
        for name, value in response.headers.items()
        if not name.startswith(("x-ratelimit-remaining", "x-ratelimit-reset"))
    }
    return response.status_code, response.content, headers


ASKED: Final[Mapping[str, Mapping[str, Any]]] = {
    "as documented": {},
    "without what is required": {"query": {}},
    "beyond a bound": {"query": {"book": "long_short", "limit": "0", "from": "x"}},
    "of an unknown book": {"query": {"book": "nothing"}},
    "of a raw book": {"query": {"book": "raw_long_short"}},
    "with a page beyond the end": {"query": {"book": "long_short", "offset": "1000000"}},
    "with the tag of any page": {"if_none_match": "*"},
    "coded": {"accept_encoding": "gzip"},
}
"""Requests that a readable alpha answers differently from a missing one."""


@pytest.mark.parametrize("way", ASKED.values(), ids=ASKED)
@every(OF_AN_ALPHA)
def test_a_forbidden_alpha_looks_like_a_missing_one(
    deployment: Deployment, endpoint: Endpoint, way: Mapping[str, Any]
) -> None:
    for key in ("testing", "tester"):
        there, *absent = (
            outwardly(deployment.get(endpoint, key, alpha=alpha, x_request_id="the-same", **way))
            for alpha in (HIDDEN, ABSENT, "Prod.with.dots", "é", "a" * 300)
        )
        assert absent == [there] * 4
        assert there[0] == 403


@every(OF_AN_ALPHA)
def test_an_entity_tag_does_not_open_a_forbidden_alpha(deployment: Deployment, endpoint: Endpoint) -> None:
    tag = deployment.get(endpoint, "raw", alpha=HIDDEN).headers.get("etag", '"none"')
    there, absent = (
        deployment.get(endpoint, "testing", alpha=alpha, x_request_id="the-same", if_none_match=tag)
        for alpha in (HIDDEN, ABSENT)
    )
    assert outwardly(there) == outwardly(absent)
    assert there.status_code == 403


@every(ADMIN_ONLY)
def test_administrative_routes_reveal_nothing_to_other_keys(
    deployment: Deployment, endpoint: Endpoint
) -> None:
    line = endpoint.path
    for place, there, absent in (("alpha", HIDDEN, ABSENT), ("key_id", deployment.places["key"], "0" * 16)):
        answers = [
            deployment.client.get(
                line.replace(f"{{{place}}}", name),
                headers={"authorization": f"Bearer {deployment.tokens['raw']}", "x-request-id": "the-same"},
            )
            for name in (there, absent)
        ]
        for answer in answers:
            del answer.headers["date"]
        assert outwardly(answers[0]) == outwardly(answers[1])
        assert answers[0].json()["error"]["code"] == "endpoint_not_allowed"


def test_health_is_the_same_with_any_key(deployment: Deployment) -> None:
    (health,) = [e for e in ENDPOINTS.values() if e.public]
    for condition in CONDITIONS.values():
        key = None if condition.key is None else condition.key.format(endpoint="meta.me")
        response = deployment.get(health, key)
        assert response.status_code == 200
        assert not [name for name in response.headers if name.startswith("x-ratelimit")]


def test_no_secret_is_in_the_log_of_the_program(deployment: Deployment, folder: Path) -> None:
    deployment.client.get("/v1/me", params={"key": deployment.tokens["reader"]})
    log = (folder / "server-limits-matrix.log").read_text()
    assert "asked-by-the-matrix" in log
    for token in deployment.tokens.values():
        if "." in token:
            assert token.partition(".")[2] not in log
