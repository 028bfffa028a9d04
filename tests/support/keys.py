"""Functions that issue keys for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve.auth.admin.keys import IssuedKey
from serve.auth.settings import AccessSettings
from serve.http.access_log import by_name
from tests.support.administration import open_administration

WIDE: Final = "per_second=100000,per_minute=1000000,per_day=10000000,monthly=null"
"""Limits that no test reaches."""


def bearer(token: str, forwarded: str | None = None) -> Mapping[bytes, bytes]:
    """Return the headers of a request with a token, and with a chain of proxies if given."""
    headers = {"Authorization": f"Bearer {token}"}
    return credentials(headers if forwarded is None else {**headers, "X-Forwarded-For": forwarded})


def credentials(headers: Mapping[str, str] | Sequence[tuple[bytes, bytes]]) -> Mapping[bytes, bytes]:
    """Return request headers as the authenticator reads them: case-insensitive, repeated lines joined."""
    if isinstance(headers, Mapping):
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return by_name((name.lower(), value) for name, value in headers)


async def issue_key(
    access: AccessSettings, account: str | None = None, *, admin: bool = False, **grants: Any
) -> str:
    """Issue a key and return its token.

    Parameters
    ----------
    access
        The key store.
    account
        Its owner, created if missing; by default a new account.
    admin
        Whether a new account is an administrator's.
    grants
        Arguments of :meth:`serve.auth.admin.keys.Keys.issue`; by default everything but raw fields, without limits.
    """
    async with open_administration(access, "tests") as administration:
        known = [each.email for each in await administration.accounts.all()]
        email = account or f"user{len(known)}@example.org"
        if email not in known:
            await administration.accounts.create(email, admin=admin, ceiling_endpoints="all")
        given = {"endpoints": "all", "alphas": "all", "runs": "all", "rate": WIDE, **grants}
        issued: IssuedKey = await administration.keys.issue(email, "a key", **given)
        return issued.token
