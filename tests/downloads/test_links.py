"""Links to tables: what they open, and when they end."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from serve.auth.caller import rights_of
from serve.endpoints import downloads
from tests.downloads.signed_links import LIST, code, fetched, signed, signed_by, target
from tests.support.administration import open_administration
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.contract_app import FULL, HIDDEN


def test_a_link_opens_only_its_own_file(api: ApiClient, reader: str, raw: str) -> None:
    link = target(signed(api, reader, "decisions")["url"])
    path, _, query = link.partition("?")
    fields = dict(x.split("=") for x in query.split("&"))
    other = dict(
        x.split("=") for x in target(signed(api, raw, "decisions")["url"]).partition("?")[2].split("&")
    )
    forged = [
        link.replace("without-raw", "as-built"),
        link.replace("/decisions.", "/rebalances."),
        link.replace(FULL, HIDDEN),
        link.replace(fields["expires"], str(int(fields["expires"]) + 1)),
        link.replace(fields["key"], other["key"]),
        f"{path}?expires={fields['expires']}&key={other['key']}&signature={fields['signature']}",
        link.replace(fields["key"], "0" * 16),
        link.replace(fields["key"], "nobody"),
        link[:-1] + ("A" if link[-1] != "A" else "B"),
        link.replace(fields["signature"], ""),
        link.replace(fields["signature"], "%C3%A9"),
        link + "&more=1",
        link + f"&expires={fields['expires']}",
        path,
    ]
    for one in forged:
        assert one != link
        assert code(api.get(one)) == (403, "link_invalid"), one
        assert code(api.get(one, raw)) == (403, "link_invalid"), "a key sent along opens nothing"
    assert api.get(link).status_code == 200
    for empty in (
        "/files",
        "/files/x",
        path.replace(".parquet", ""),
        path.replace("without-raw", "raw"),
        path + "/",
    ):
        assert code(api.get(empty)) == (404, "not_found"), empty
    assert code(api.get(link, method="POST")) == (404, "method_not_allowed")


def test_a_link_expires(api: ApiClient, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TABLE_LIFETIME", -1)
    late = target(signed_by(api, reader))
    assert code(api.get(late)) == (403, "link_expired")


def test_a_link_ends_with_its_keys_rights(api: ApiClient) -> None:
    async def change(what: str, key_id: str) -> None:
        async with open_administration(api.access, "the suite") as administration:
            await getattr(administration.keys, what)(key_id)

    token = api.key()
    key_id = re.search(r"_([0-9a-z]{16})\.", token)[1]  # type: ignore[index]
    link = target(signed_by(api, token))
    assert api.get(link).status_code == 200
    api.wait(change("suspend", key_id))
    assert code(api.get(link)) == (401, "key_suspended")
    api.wait(change("reactivate", key_id))
    assert api.get(link).status_code == 200
    api.wait(change("revoke", key_id))
    assert code(api.get(link)) == (401, "key_revoked")


def test_a_link_ends_with_the_grant_of_its_rows(api: ApiClient) -> None:
    async def grant(key_id: str, endpoints: str) -> None:
        async with open_administration(api.access, "the suite") as administration:
            await administration.keys.change(key_id, endpoints=endpoints)

    token = api.key()
    key_id = re.search(r"_([0-9a-z]{16})\.", token)[1]  # type: ignore[index]
    link = target(signed_by(api, token))
    api.wait(grant(key_id, "catalog.alphas.tables.download,portfolio.pnl"))
    assert code(api.get(link)) == (403, "link_invalid")


def test_a_link_to_raw_columns_ends_with_raw_access(
    api: ApiClient, raw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [
        target(signed(api, raw, *x)["url"])
        for x in (("decisions",), ("books",), ("weekly_deciles",), ("positions", "raw_long_short"))
    ]
    plain = target(signed(api, raw, "positions")["url"])
    monkeypatch.setattr(
        "serve.auth.authenticator.rights_of",
        lambda record: replace(rights_of(record), expose_raw=False),
    )
    for link in links:
        assert code(api.get(link)) == (403, "link_invalid")
    assert api.get(plain).status_code == 200


def test_signing_a_link_is_counted_and_using_it_is_not(api: ApiClient) -> None:
    token = api.key(rate="per_second=1000,per_minute=1000,per_day=2,monthly=null")
    url = signed_by(api, token)
    for _ in range(5):
        assert fetched(api, url).status_code == 200
    assert api.get(LIST, token).status_code == 200
    assert code(api.get(LIST, token)) == (429, "rate_limit_day")
    assert fetched(api, url).status_code == 200


def test_links_use_the_services_public_address(root: Path) -> None:
    counts = root.with_name("counts-public")
    with running(root, counts=counts, public_url="https://results.example.org/api/") as api:
        url = signed_by(api, api.key())
        assert url.startswith("https://results.example.org/api/files/")
