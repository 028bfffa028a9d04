"""Access by the protocol: every kind of key, operation and share, compared with ``/v1``."""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import urlsplit

import pytest

from schemas.errors import StorageUnavailable
from serve.compute import CallerLeft, ComputeQueue
from serve.sharing import routes
from tests.sharing.protocol_requests import OPERATIONS, files, operation, send
from tests.support.contract_app import (
    ABSENT,
    BARE,
    EMPTY,
    FULL,
    HIDDEN,
    NOWHERE,
    PLAIN,
    READING,
    REFUSED,
    UNDECIDED,
    ContractApp,
)

SHARES = (FULL, PLAIN, UNDECIDED, EMPTY, BARE, HIDDEN, ABSENT, NOWHERE)
TABLES = ("portfolio", "weekly_deciles")


@pytest.mark.parametrize("key", [*READING, *REFUSED])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_key_is_refused_wherever_v1_refuses_it(api: ContractApp, name: str, key: str | None) -> None:
    for share in SHARES:
        for table in TABLES if "table" in OPERATIONS[name][1].rpartition("/schemas/")[2] else TABLES[:1]:
            answer = operation(api, name, key, share, table)
            if name == "query":
                expected = api.get("catalog.alphas.tables.download", key=key, alpha=share, table=table)
            else:
                expected = api.get("catalog.alphas.tables.list", key=key, alpha=share)
                if name in {"share", "schemas"} and expected.status_code == 403:
                    # The list of shares needs the grants of the list of alphas and of the run.
                    listed = api.get("catalog.alphas.list", key=key)
                    expected = expected if listed.status_code == 200 else listed
            if name in {"version", "metadata"} and expected.status_code == 200:
                offered = {file["table"] for file in expected.json()["data"]}
                assert answer.status_code == (200 if table in offered else 404), (share, table)
                continue
            assert answer.status_code == expected.status_code, (share, table, answer.text)
            if expected.status_code != 200:
                code = expected.json()["error"]["code"]
                assert answer.json()["errorCode"] == code.upper()
                if expected.headers.get("retry-after") is None:
                    assert answer.headers.get("retry-after") is None


def test_every_operation_is_one_call(api: ContractApp) -> None:
    def used() -> int:
        return int(api.ok("meta.me", key="counted")["data"]["usage"]["day"])

    before = used()
    for name in OPERATIONS:
        operation(api, name, "counted", FULL, "portfolio")
    send(api, "/shares", "counted")
    assert used() - before == len(OPERATIONS) + 2  # including this call


@pytest.mark.parametrize("key", ["second", "minute", "day", "month"])
def test_an_exhausted_limit_is_429_with_retry_after(api: ContractApp, key: str) -> None:
    answers = [operation(api, "metadata", key, FULL, "portfolio") for _ in range(3)]
    refused = answers[-1]
    assert refused.status_code == 429
    assert refused.json()["errorCode"] == api.refused("meta.me", key=key)["code"].upper()
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.headers["x-ratelimit-limit-day"]


def test_a_link_ends_with_its_key(api: ContractApp) -> None:
    url = urlsplit(files(operation(api, "query", "reader", FULL, "portfolio"))[0]["url"])
    assert api.client.get(f"{url.path}?{url.query}").status_code == 200
    forged = url.query.replace(api.keys.ids["reader"], api.keys.ids["revoked"])
    assert api.client.get(f"{url.path}?{forged}").status_code == 403


def test_a_file_that_cannot_be_read_now_is_503_with_retry_after(
    api: ContractApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise StorageUnavailable("the disk does not answer")

    monkeypatch.setattr(routes, "read_entry", fail)
    answer = operation(api, "query", "reader", FULL, "portfolio")
    assert (answer.status_code, answer.json()["errorCode"]) == (503, "UPSTREAM_UNAVAILABLE")
    assert int(answer.headers["retry-after"]) >= 1


def test_a_caller_that_left_is_not_counted_as_an_internal_error(
    api: ContractApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: object) -> NoReturn:
        raise CallerLeft

    monkeypatch.setattr(ComputeQueue, "_turn", leave)
    answer = operation(api, "tables", "reader", FULL)
    assert (answer.status_code, answer.content) == (499, b"")
