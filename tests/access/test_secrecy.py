from __future__ import annotations

import base64
import json
import traceback

import pytest

from schemas.endpoints import ENDPOINTS
from schemas.errors import AlphaResultsError, ApiError
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.auth.store.repository import KeyStore
from serve.auth.tokens import new_token
from tests.access.conftest import OWNER, Emitted
from tests.support.administration import Administration
from tests.support.keys import bearer
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.anyio

ME = ENDPOINTS["meta.me"]


def peppers_of(settings: AccessSettings) -> list[str]:
    """Return a deployment's peppers, from settings and from the file next to its store."""
    results = [pepper.decode() for pepper in settings.pepper]
    store = settings.location.path
    if store is not None:
        results.append(store.with_name(f"{store.name}.pepper").read_text().strip())
    return results


async def test_no_output_contains_a_secret(
    settings: AccessSettings,
    access: Authenticator,
    administration: Administration,
    emitted: Emitted,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    issued = await administration.keys.issue(
        OWNER, "k", ips="203.0.113.0/24", rate="per_second=50,per_minute=3"
    )
    forged = f"{issued.token.partition('.')[0]}.{new_token().secret}"
    secrets = [issued.token.partition(".")[2], forged.partition(".")[2]]
    digest = issued.record.digest
    secrets += [digest.hex(), digest.hex().upper(), base64.b64encode(digest).decode(), repr(digest)[2:-1]]
    secrets += peppers_of(settings)

    async def attempt(token: str, peer: str, endpoint_id: str) -> None:
        try:
            caller = await access.authorize(bearer(token), peer, ENDPOINTS[endpoint_id])
            seen.append(repr(caller))
        except ApiError as error:
            seen.append("".join(traceback.format_exception(error)))
            seen.append(json.dumps([error.message, error.details, error.headers]))

    for token in (issued.token, forged, issued.token[:-1], f"{issued.token} {forged}"):
        for peer in ("203.0.113.7", "198.51.100.1"):
            for endpoint_id in ("meta.me", "signals.scores"):
                await attempt(token, peer, endpoint_id)
    await administration.keys.change(issued.record.id, name="renamed")
    for act in (administration.keys.find, administration.keys.suspend):
        try:
            await act(forged)
        except AlphaResultsError as error:
            seen.append("".join(traceback.format_exception(error)))
    await administration.keys.revoke(issued.record.id)
    await attempt(issued.token, "203.0.113.7", "meta.me")
    with monkeypatch.context() as patch:
        # A store that fails in the middle of a call.
        patch.setattr(KeyStore, "key_or_another", _broken)
        with pytest.raises(RuntimeError) as broken:
            await attempt(issued.token, "203.0.113.7", "meta.me")
        seen.append("".join(traceback.format_exception(broken.value)))
    seen += [repr(x) for x in (settings, issued, issued.record, await access.key(issued.record.id))]
    seen += [json.dumps(entry["detail"]) for entry in await administration.audit_log()]
    seen += [
        json.dumps(await administration.keys.to_json(issued.record)),
        *emitted.lines,
        *capsys.readouterr(),
    ]
    if settings.location.path is None:
        server: PostgresServer = request.getfixturevalue("postgres")
        seen.append(server.log.read_text())
    text = "\n".join(seen)
    assert "rate_limit" in text
    assert issued.record.id in text
    for secret in secrets:
        assert secret not in text


async def _broken(*_: object, **__: object) -> None:
    raise RuntimeError("the disk is on fire")


async def test_the_store_contains_no_secret(administration: Administration, settings: AccessSettings) -> None:
    issued = await administration.keys.issue(OWNER, "k")
    secret = issued.token.partition(".")[2]
    (record,) = await administration.keys.all()
    assert record.digest == issued.record.digest
    assert len(record.digest) == 32
    stored = repr([*record])
    assert secret not in stored
    if settings.location.path is not None:
        for path in settings.location.path.parent.glob("*"):
            assert secret.encode() not in path.read_bytes()
