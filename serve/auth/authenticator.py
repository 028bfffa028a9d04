"""Authentication and authorisation of calls, before their parameters are checked."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import structlog

from schemas.endpoint import Endpoint
from schemas.errors import ApiError, StorageUnavailable
from schemas.limits import LIMIT_WINDOWS
from serve.auth.caller import Caller, KeyUse, Rights, endpoint_not_allowed, rights_of
from serve.auth.client_address import UNKNOWN, IPAddress, address_allowed, client_address
from serve.auth.clocks import SECOND_US, wall_us
from serve.auth.limits import Limiter, open_limiter
from serve.auth.limits.counts import LimitStatus, RateLimit, Usage, rate_limit
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import load_digests, open_store
from serve.auth.store.repository import KeyRecord, KeyStore, Repository
from serve.auth.store.tables import KeyStatus
from serve.auth.tokens import NO_PEPPER, NOT_A_KEY, Digests, TokenShape

T = TypeVar("T")

UNAVAILABLE_RETRY_SECONDS: Final = 1
"""``Retry-After`` while the store or the limiter is unavailable."""
_NO_KEY_ID: Final = "0" * 16
"""An id that no key has, to probe the store and the limiter."""
_REFUSED_STATUS: Final = {
    KeyStatus.REVOKED: ("key_revoked", "This key was revoked; ask for another."),
    KeyStatus.SUSPENDED: ("key_suspended", "This key is suspended; ask the operator to reactivate it."),
}
_HEADERS: Final = tuple(window.headers for window in LIMIT_WINDOWS)

_log = structlog.get_logger(__name__)


class Call(Protocol):
    """Facts about a call, recorded while it is checked, for its log line."""

    key_id: str | None


class Authenticator:
    """Keys, accounts and limits of one serving process.

    Every call reads the store, so a change to a key or an account takes effect at the next call. A call of a recognised
    key is counted once.
    """

    def __init__(self, settings: AccessSettings, store: KeyStore, limiter: Limiter, digests: Digests) -> None:
        self._hops = settings.trusted_hops
        self._shape = TokenShape(settings.key_prefix, settings.environment)
        self._store = store
        self._limiter = limiter
        self._digests = digests

    @classmethod
    async def open(cls, settings: AccessSettings) -> Authenticator:
        """Open the store and the limiter.

        Raises
        ------
        SettingsError, StorageUnavailable
            Raised by `require_serving`, `open_store`, `load_digests` or `open_limiter`.
        """
        settings.require_serving()
        store = await open_store(settings, writable=False)
        try:
            digests = await store.run(load_digests, settings, wall_us())
            if digests.newest == NO_PEPPER:
                _log.warning(
                    "digests_without_pepper", fix="set ALPHA_RESULTS_PEPPER to 32 random bytes in hex"
                )
            return cls(settings, store, await open_limiter(settings), digests)
        except BaseException:
            await store.close()
            raise

    async def close(self) -> None:
        """Save pending counts and close every connection."""
        try:
            await self._limiter.close()
        finally:
            await self._store.close()

    async def require_limiter(self) -> None:
        """Raise StorageUnavailable, with the reason, when calls cannot be counted now."""
        await self._limiter.status([(_NO_KEY_ID, RateLimit())])

    async def require_store(self) -> None:
        """Raise StorageUnavailable, with the reason, when keys cannot be looked up now."""
        await self._store.run(Repository.key, _NO_KEY_ID)

    async def authorize(
        self, headers: Mapping[bytes, bytes], client: str | None, endpoint: Endpoint, call: Call | None = None
    ) -> Caller:
        """Run the checks from the key to the endpoint allow-list, in the documented order.

        Parameters
        ----------
        headers
            Request headers by lower-case name; repeated headers are joined with commas.
        client
            Peer address of the connection; None if it has none.
        endpoint
            The endpoint called; never a public one, which needs no key and is not counted.
        call
            Receives the key's id once its secret is verified, whether or not the call is admitted.

        Raises
        ------
        ApiError
            With the documented code. Once the key is recognised, its headers include ``X-RateLimit-*``, and
            ``Retry-After`` on 429 and 503.
        """
        token = self._shape.read(headers)
        # The same work for every id, so that timing does not reveal whether the id exists.
        try:
            record = await self._store.key_or_another(token.key_id)
        except StorageUnavailable as error:
            raise _unavailable(error) from error
        digest, pepper_id = self._digests.decoy if record is None else (record.digest, record.pepper_id)
        verified = self._digests.verify(token, digest, pepper_id)
        if not verified or record is None or record.id != token.key_id or not token.ours:
            raise _no_such_key()
        _require_in_use(record)
        if call is not None:
            call.key_id = record.id
        rate, address = rate_limit(record.limits), self._address(client, headers)
        refusal = _refusal(record, address)
        if refusal is not None:
            refusal.headers.update(await self._headers_now(record))
            raise refusal
        status = await _await_answer(self._limiter.hit(record.id, rate))
        limit_headers, refused = rate_headers(rate, status), status.refused
        if refused is not None:
            limit = rate.by_option()[refused.option]
            raise ApiError(
                refused.code,
                f"The key's limit of {limit} {'call' if limit == 1 else 'calls'} in {refused.span} is used up; `Retry-After` says when to try again.",
                {"window": refused.name, "limit": limit},
                limit_headers,
            )
        usage = Usage(status.used, rate)
        caller = Caller(**vars(rights_of(record)), usage=usage, address=address, headers=limit_headers)
        if endpoint.id not in caller.callable_ids:
            raise endpoint_not_allowed(endpoint.id, headers=limit_headers)
        return caller

    def _address(self, client: str | None, headers: Mapping[bytes, bytes]) -> IPAddress | None:
        forwarded = headers.get(b"x-forwarded-for") if self._hops else None
        return client_address(client, None if forwarded is None else forwarded.decode("latin-1"), self._hops)

    async def sign_link(self, key_id: str, text: str) -> str:
        """Sign a link on behalf of a key that just made a call.

        Raises
        ------
        ApiError
            ``upstream_unavailable`` if the store does not answer; ``invalid_api_key`` if the key or its pepper is gone.
        """
        record = await _await_answer(self._store.run(Repository.key, key_id))
        signature = record and self._digests.link_signature(record.digest, record.pepper_id, text)
        if signature is None:
            raise _no_such_key()
        return signature

    async def link_holder(
        self, key_id: str, text: str, signature: str, client: str | None, headers: Mapping[bytes, bytes]
    ) -> Rights:
        """Return the present rights of the key that signed a link.

        Use of a link is not counted; the call that signed it was.

        Raises
        ------
        ApiError
            ``link_invalid`` unless this key signed the text; otherwise the refusal that a call with the key would get for
            its status, expiry, account or address.
        """
        record = await _await_answer(self._store.run(Repository.key, key_id))
        digest, pepper_id = self._digests.decoy if record is None else (record.digest, record.pepper_id)
        expected = self._digests.link_signature(digest, pepper_id, text) or ""
        if not hmac.compare_digest(expected.encode(), signature.encode()) or record is None:
            raise ApiError("link_invalid", "This link was altered or not signed here; request another.")
        _require_in_use(record)
        refusal = _refusal(record, self._address(client, headers))
        if refusal is not None:
            raise refusal
        return rights_of(record)

    async def _headers_now(self, record: KeyRecord) -> dict[str, str]:
        try:
            (status,) = await self._limiter.status([(record.id, record.rate)])
        except StorageUnavailable:
            return {}  # the refusal is sent without them
        return rate_headers(record.rate, status)

    async def inventory(self, account_id: str) -> list[KeyUse]:
        """Return the keys of an account that are not revoked, newest first; empty for an unknown account."""
        return await self._uses(await _await_answer(self._store.run(Repository.keys, account_id)))

    async def key(self, key_id: str) -> KeyUse | None:
        """Return a key, even a revoked one; None if it does not exist."""
        record = await _await_answer(self._store.run(Repository.key, key_id))
        return None if record is None else (await self._uses([record]))[0]

    async def _uses(self, records: Sequence[KeyRecord]) -> list[KeyUse]:
        statuses = await _await_answer(self._limiter.status([(record.id, record.rate) for record in records]))
        return [
            KeyUse(rights_of(record), Usage(status.used, record.rate), self._shape.mask(record.id))
            for record, status in zip(records, statuses, strict=True)
        ]


def rate_headers(rate: RateLimit, status: LimitStatus) -> dict[str, str]:
    """Return the ``X-RateLimit-*`` headers, and ``Retry-After`` when the call was refused; seconds are rounded up.

    A window without a limit has no headers.
    """
    headers: dict[str, str] = {}
    for names, limit, used, reset in zip(_HEADERS, rate.limits, status.used, status.reset_us, strict=True):
        if limit is not None:
            headers[names[0]] = str(limit)
            headers[names[1]] = str(limit - used if used < limit else 0)
            headers[names[2]] = str(-(-reset // SECOND_US))
    if status.refused is not None:
        headers["Retry-After"] = str(max(1, -(-status.retry_us // SECOND_US)))
    return headers


async def _await_answer(answer: Awaitable[T]) -> T:
    """Await an answer of the store or the limiter; while either is unavailable, calls are refused."""
    try:
        return await answer
    except StorageUnavailable as error:
        raise _unavailable(error) from error


def _unavailable(error: StorageUnavailable) -> ApiError:
    """Return the refusal of a call while the store or the limiter is unavailable: calls fail closed."""
    _log.warning("access_unavailable", reason=str(error), cause=type(error.__cause__).__name__)
    return ApiError(
        "upstream_unavailable",
        "Keys cannot be checked at present; try again.",
        headers={"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)},
    )


def _no_such_key() -> ApiError:
    return ApiError("invalid_api_key", "This service did not issue this key.", headers=NOT_A_KEY)


def _require_in_use(record: KeyRecord) -> None:
    """Refuse a key that is suspended, revoked or past its expiry."""
    if record.status != KeyStatus.ACTIVE:
        code, message = _REFUSED_STATUS[KeyStatus(record.status)]
        raise ApiError(code, message, headers=NOT_A_KEY)
    if record.expires_at is not None and record.expires_at <= wall_us():
        raise ApiError("key_expired", "This key has expired; ask for another.", headers=NOT_A_KEY)


def _refusal(record: KeyRecord, address: IPAddress | None) -> ApiError | None:
    """Return the refusal of a recognised key for its account or address; such a call is not counted."""
    if not record.account_active:
        return ApiError("account_inactive", "The account of this key is deactivated; ask the operator.")
    if record.addresses is not None and not address_allowed(address, record.addresses):
        where = {"ip": str(address or UNKNOWN)}
        return ApiError("ip_not_allowed", "This key may not be used from this address.", where)
    return None
