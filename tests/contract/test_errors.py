"""Every declared error of an endpoint can be provoked, with its status and envelope."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasets.catalogue.live import Catalogue
from datasets.provenance.archives import DELIVERED, ArchiveState, write_archive_state
from datasets.storage import open_storage
from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES, HEAD_ERRORS
from schemas.objects.envelope import ERROR_DETAILS
from schemas.parameters import ParameterKind
from serve import app
from serve.http.request import Request
from serve.research.neighbours import ReturnsStores
from serve.research.store import ReturnsStore
from serve.state import ServerState
from tests.contract.cases import CASES, arguments_of
from tests.support import contract_app
from tests.support.conformance import strict
from tests.support.contract_app import ABSENT, FULL, HIDDEN, NOWHERE, PLAIN, UNDECIDED, ContractApp, Keys
from tests.support.processes import REPOSITORY

OF_THE_KEY = (
    "missing_api_key",
    "malformed_api_key",
    "invalid_api_key",
    "key_suspended",
    "key_revoked",
    "key_expired",
    "account_inactive",
    "ip_not_allowed",
    "endpoint_not_allowed",
)
"""Error codes of the states of a key, each of which the matrix asks of every endpoint."""
NAMED_ELSEWHERE = {
    **dict.fromkeys(OF_THE_KEY, "tests/contract/test_matrix.py"),
    # Needs a store that answers but no longer has the object.
    "source_object_missing": "tests/s3/test_source_downloads.py",
    # Needs more calls than the threads can handle.
    "overloaded": "tests/serving/test_overload.py",
    **dict.fromkeys(HEAD_ERRORS, "tests/wire/test_requests.py"),
}
"""Error code -> the suite that gets it, where that takes more than a process."""
BAD_VALUE = {"date": "no-day", "symbol": "nothing-of-this-name"}


@pytest.fixture(scope="module")
def without_limiter(root: Path, prices: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    """Return an application whose limiter is unavailable."""
    access = contract_app.unreachable_counts(contract_app.access_settings(folder))
    with contract_app.opened(contract_app.settings(root, prices), access, keys) as api:
        yield api


@pytest.fixture(scope="module")
def failing(root: Path, prices: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    """Return an application whose endpoint functions raise."""

    def fail(_: ServerState, __: Request) -> Any:
        raise RuntimeError(f"a secret of {root}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "ROUTES", dict.fromkeys(app.ROUTES, fail))
        access = contract_app.access_settings(folder, "limits-failing")
        application = app.create(contract_app.settings(root, prices), access)
    with contract_app.made(application, access, keys, root) as api:
        yield api


@pytest.fixture(scope="module")
def without_market_data(root: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    """Return an application without market data."""
    with contract_app.opened(
        contract_app.settings(root), contract_app.access_settings(folder, "limits-priceless"), keys
    ) as api:
        yield api


def use_unreachable_bucket(patch: pytest.MonkeyPatch) -> None:
    """Point every bucket at a closed port."""
    patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    patch.setenv("AWS_REGION", "nowhere-1")
    patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")


@pytest.fixture(scope="module")
def with_market_data_away(root: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    """Return an application whose market data are unavailable."""
    with pytest.MonkeyPatch.context() as patch:
        use_unreachable_bucket(patch)
        away = contract_app.settings(root, "s3://prices/spy.parquet")
        with contract_app.opened(away, contract_app.access_settings(folder, "limits-stockless"), keys) as api:
            yield api


@pytest.fixture(scope="module")
def with_archives_away(root: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    """Return an application whose archives are unavailable; one is recorded as delivered."""
    storage = open_storage(root)
    seal = Catalogue(storage)
    seal.refresh()
    hidden = seal.resolve(HIDDEN)
    assert hidden is not None
    write_archive_state(
        storage,
        ArchiveState(
            alpha_id=HIDDEN,
            seal_digest=hidden.manifest.seal_digest,
            status=DELIVERED,
            updated_at="2026-01-06T00:00:00Z",
            filename=f"{HIDDEN}.zip",
            key=f"{HIDDEN}/source.zip",
        ),
    )
    with pytest.MonkeyPatch.context() as patch:
        use_unreachable_bucket(patch)
        program = contract_app.settings(root, archives="s3://archives/runs")
        with contract_app.opened(
            program, contract_app.access_settings(folder, "limits-storeless"), keys
        ) as api:
            yield api


@pytest.fixture(scope="module")
def with_unread_returns(root: Path, prices: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    """Return an application whose first read of returns exceeds the request's wait."""

    def keep(store: ReturnsStore, was_ready: object) -> None:
        store.__dict__["was_ready"] = (
            was_ready  # another application opens stores meanwhile, and uses them later
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReturnsStore, "was_ready", property(lambda _: False, keep), raising=False)
        patch.setattr(ReturnsStores, "patience_seconds", 0.0)
        program = contract_app.settings(root, prices)
        access = contract_app.access_settings(folder, "limits-unread")
        with contract_app.opened(program, access, keys) as api:
            yield api


Provocation = Callable[[pytest.FixtureRequest, ContractApp, Endpoint], httpx.Response]


def with_key(key: str) -> Provocation:
    def provoke(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
        return api.get(endpoint, CASES[endpoint.id].query, **{**arguments_of(api, endpoint), "key": key})

    return provoke


def beyond_limit(key: str) -> Provocation:
    def provoke(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
        # Whether or not the only allowed call was already made, the call after this one exceeds the limit.
        for attempt in itertools.count():
            response = with_key(key)(_, api, endpoint)
            if response.status_code == 429 or attempt == 3:
                return response
        raise AssertionError

    return provoke


def within_one_second(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
    """Send concurrent calls until two fall within one second."""
    arguments = arguments_of(api, endpoint)
    path = {name: value for name, value in arguments.items() if name != "key"}
    line = contract_app.target(endpoint, CASES[endpoint.id].query, path)
    for _attempt in range(20):
        for response in api.client.send_together([(line, api.headers("second"))] * 8):
            if response.status_code == 429:
                return response
    raise AssertionError("no two of 160 calls fell into one second")


def in_application(fixture: str, **path: str) -> Provocation:
    def provoke(request: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
        other: ContractApp = request.getfixturevalue(fixture)
        arguments = {**arguments_of(api, endpoint), **path}
        return other.get(endpoint, CASES[endpoint.id].query, **arguments)

    return provoke


def by_post(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
    path = {name: value for name, value in arguments_of(api, endpoint).items() if name != "key"}
    return api.client.send("POST", contract_app.target(endpoint, CASES[endpoint.id].query, path), {})


def with_bad_parameters(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
    arguments = arguments_of(api, endpoint)
    twice = [(p.name, "1") for p in endpoint.query[:1]] * 2
    for name in BAD_VALUE.keys() & CASES[endpoint.id].path.keys():
        arguments[name] = BAD_VALUE[name]
    more = [*twice, ("nonsense", "1")]
    return api.get(endpoint, [*CASES[endpoint.id].query.items(), *more], **arguments)


def with_alpha(alpha: str, key: str | None = None, **query: str) -> Provocation:
    def provoke(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
        arguments = {**arguments_of(api, endpoint), "alpha": alpha}
        if key is not None:
            arguments["key"] = key
        listed = {} if "alpha" in CASES[endpoint.id].path else {"alphas": f"{FULL},{alpha}"}
        return api.get(endpoint, {**CASES[endpoint.id].query, **listed, **query}, **arguments)

    return provoke


def with_path(**path: str) -> Provocation:
    def provoke(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
        return api.get(endpoint, CASES[endpoint.id].query, **{**arguments_of(api, endpoint), **path})

    return provoke


def with_query(**query: str) -> Provocation:
    def provoke(_: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint) -> httpx.Response:
        return api.get(endpoint, {**CASES[endpoint.id].query, **query}, **arguments_of(api, endpoint))

    return provoke


def with_unknown_snapshot(
    request: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint
) -> httpx.Response:
    names = {p.name for p in endpoint.query} & {"snapshot", "to_snapshot"}
    return with_query(**dict.fromkeys(names, "0" * 20))(request, api, endpoint)


PROVOCATIONS: dict[str, Provocation] = {
    "method_not_allowed": by_post,
    "internal_error": in_application("failing"),
    "rate_limit_second": within_one_second,
    "rate_limit_minute": beyond_limit("minute"),
    "rate_limit_day": beyond_limit("day"),
    "quota_exceeded": beyond_limit("month"),
    "upstream_unavailable": in_application("without_limiter"),
    "bad_request": with_bad_parameters,
    "alpha_not_allowed": with_alpha(ABSENT, "testing"),
    "run_not_allowed": with_alpha(ABSENT, "testing"),
    "alpha_not_found": with_alpha(NOWHERE),
    "run_not_found": with_alpha(NOWHERE),
    "snapshot_not_found": with_unknown_snapshot,
    "cursor_not_known": with_query(since="a" * 48),
    "alpha_description_not_found": with_alpha(PLAIN),
    "rebalance_not_found": with_path(date="0001-01-01"),
    "unknown_book": with_alpha(PLAIN, book="nothing"),
    "neighbours_not_ready": in_application("with_unread_returns"),
    "benchmark_unavailable": in_application("with_market_data_away"),
    "benchmark_not_configured": in_application("without_market_data"),
    "source_not_ready": in_application("with_archives_away"),
    "source_download_unavailable": in_application("with_archives_away", alpha=HIDDEN),
    "source_download_not_configured": with_path(),
    "table_not_found": with_path(alpha=UNDECIDED, table="decisions"),
    "key_not_found": with_path(key_id="0" * 16),
}
"""Error code -> how to get it from an endpoint that declares it."""

REACHABLE = [
    pytest.param(endpoint, code, id=f"{endpoint.id}-{code}")
    for endpoint in ENDPOINTS.values()
    for code in endpoint.all_errors
    if code not in NAMED_ELSEWHERE
]


@pytest.mark.parametrize(("endpoint", "code"), REACHABLE)
def test_every_declared_error_can_be_provoked(
    request: pytest.FixtureRequest, api: ContractApp, endpoint: Endpoint, code: str
) -> None:
    response = PROVOCATIONS[code](request, api, endpoint)
    error = strict(response.content)["error"]
    assert error["code"] == code
    assert response.status_code == ERROR_CODES[code].status
    assert list(error) == ["code", "message", "details", "request_id"]
    assert error["request_id"] == response.headers["x-request-id"]
    assert error["message"].endswith(".")
    if code == "internal_error":
        assert not re.search("secret|RuntimeError", response.text), "an unforeseen failure reveals no details"
    declared = ERROR_DETAILS.get(code)
    if declared is None or error["details"] is None:
        assert error["details"] is None
        assert declared is None or declared.nullable
    else:
        assert {field.name for field in declared.fields if not field.optional} <= set(error["details"])
        assert set(error["details"]) <= {field.name for field in declared.fields}, "a detail is not declared"
    comes_back = response.status_code in (429, 503) and not ERROR_CODES[code].permanent
    assert ("retry-after" in response.headers) == comes_back, "what stays as it is is not to be tried again"
    assert not comes_back or int(response.headers["retry-after"]) >= 1


def test_no_endpoint_declares_an_error_that_this_suite_cannot_provoke() -> None:
    declared = {code for endpoint in ENDPOINTS.values() for code in endpoint.all_errors}
    assert declared - NAMED_ELSEWHERE.keys() == set(PROVOCATIONS)
    for code, suite in NAMED_ELSEWHERE.items():
        assert f'"{code}"' in (REPOSITORY / suite).read_text()


def test_health_is_answered_while_no_call_can_be_counted(without_limiter: ContractApp) -> None:
    assert without_limiter.get("meta.health", key=None).status_code == 200


def test_gated_endpoints_declare_the_errors_of_their_gate() -> None:
    for endpoint in ENDPOINTS.values():
        codes = set(endpoint.all_errors)
        named = any(p.kind is ParameterKind.ALPHAS for p in endpoint.query)
        assert ("run_not_allowed" in codes) == (endpoint.allow_list is AllowListScope.RUNS or named)
        assert ("alpha_not_allowed" in codes) == (endpoint.allow_list is AllowListScope.ALPHAS)
        assert ("missing_api_key" in codes) != endpoint.public
        assert ("upstream_unavailable" in codes) != endpoint.public


def test_pending_returns_are_counted_among_readable_alphas(with_unread_returns: ContractApp) -> None:
    endpoint = ENDPOINTS["research.neighbours"]
    counts = {}
    for key in ("reader", "testing"):
        response = with_unread_returns.get(
            endpoint, **{**arguments_of(with_unread_returns, endpoint), "key": key}
        )
        assert response.status_code == 503
        counts[key] = response.json()["error"]["details"]["alphas"]
        assert counts[key] == len(with_unread_returns.rows("catalog.alphas.list", {"limit": 5000}, key=key))
    assert counts["testing"] < counts["reader"]
