"""The checks of a call that precede those of its parameters."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

import structlog

from schemas.endpoint import Endpoint
from schemas.errors import ApiError, StorageUnavailable
from schemas.extras import extra
from schemas.limits import LIMIT_WINDOWS
from serve.auth.caller import Caller, KeyUse, Rights, caller_of, endpoint_not_allowed, rights_of
from serve.auth.client_address import UNKNOWN, IPAddress, address_allowed, client_address
from serve.auth.limits import Limiter
from serve.auth.limits.clocks import wall_us
from serve.auth.limits.in_memory import InMemoryLimiter
from serve.auth.limits.policy import SECOND_US, RateLimit, rate_limit
from serve.auth.limits.sliding_window import LimitStatus
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.peppers import load_digests, require_peppers
from serve.auth.store.repository import KeyRecord, KeyStore, Repository
from serve.auth.store.tables import KeyStatus
from serve.auth.tokens import NO_PEPPER, NOT_A_KEY, Digests, Token, TokenShape, could_be_id

P = ParamSpec("P")
T = TypeVar("T")

UNAVAILABLE_RETRY_SECONDS: Final = 1
"""``Retry-After`` while the store or the counts cannot be reached."""
STORE: Final = "access_store"
LIMITER: Final = "limiter"
_UNKNOWN_KEY_ID: Final = "-" * 16
"""A key id that no key has."""
_REFUSED_STATUS: Final = {
    KeyStatus.REVOKED: ("key_revoked", "This key was revoked; issue another."),
    KeyStatus.SUSPENDED: ("key_suspended", "This key is suspended; ask the operator."),
}
_HEADERS: Final = tuple(window.headers for window in LIMIT_WINDOWS)

_log = structlog.get_logger(__name__)


class Seen(Protocol):
    """Facts about a call, recorded while it is checked, for its log line."""

    key_id: str | None


class Authenticator:
    """Keys, accounts and limits of one serving process.

    Parameters
    ----------
    settings
        Of the deployment.
    store
        Read at every call, so that a change of a key or an account holds from the next call on.
    limiter
        Charged once for every call of a recognised key.
    digests
        What secrets are verified with.
    """

    def __init__(self, settings: AccessSettings, store: KeyStore, limiter: Limiter, digests: Digests) -> None:
        self._hops = settings.trusted_hops
        self._shape = TokenShape(settings.token_prefix, settings.environment)
        self._store = store
        self._limiter = limiter
        self._digests = digests

    def _unavailable(self, part: str, error: StorageUnavailable) -> ApiError:
        """Fail closed: refuse the call, because the store or the limiter cannot be reached."""
        _log.warning("access_unavailable", part=part, reason=str(error), cause=type(error.__cause__).__name__)
        return ApiError(
            "upstream_unavailable",
            "Keys cannot be checked for the moment; try again.",
            headers={"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)},
        )

    @classmethod
    async def open(cls, settings: AccessSettings) -> Authenticator:
        """Open the store and the limiter.

        Redis may be unavailable; calls then get 503 until it is back.

        Raises
        ------
        SettingsError
            When the settings cannot count calls exactly, the store has another schema, or keys in use have a pepper that is
            not here.
        StorageUnavailable
            When the store does not answer.
        """
        settings.require_serving()
        store = await open_store(settings, writable=False)
        try:
            await require_peppers(settings, store, wall_us())
            digests = load_digests(settings)
            if digests.newest == NO_PEPPER:
                _log.warning(
                    "digests_without_pepper", fix="set ALPHA_RESULTS_PEPPER to 32 random bytes in hex"
                )
            limiter: Limiter
            if settings.redis is not None:
                with extra("redis", "counting calls in Redis"):
                    from serve.auth.limits.redis import (  # noqa: PLC0415 - slow to load, and often unused
                        RedisLimiter,
                    )

                limiter = RedisLimiter(settings.redis, f"alpha-results:{settings.environment}")
            else:
                assert settings.state is not None
                limiter = await InMemoryLimiter.open(settings.state)
        except BaseException:
            await store.close()
            raise
        return cls(settings, store, limiter, digests)

    async def close(self) -> None:
        """Save pending counts and close every connection."""
        try:
            await self._limiter.close()
        finally:
            await self._store.close()

    async def require_limiter(self) -> None:
        """Raise SettingsError or StorageUnavailable, with the reason, when calls cannot be counted now."""
        await self._limiter.require()

    async def ask_store(self) -> None:
        """Look up a key that does not exist; raises StorageUnavailable if the store does not answer."""
        await self._store.run(Repository.key, _UNKNOWN_KEY_ID)

    async def authorize(
        self,
        headers: Mapping[bytes, bytes],
        client: str | None,
        endpoint: Endpoint,
        seen: Seen | None = None,
    ) -> Caller:
        """Run the checks from the key to the endpoint allow-list, in the documented order.

        Parameters
        ----------
        headers
            Of the request, by name in small letters, several lines of one joined with commas.
        client
            Address of the other end of the connection; None when it has none.
        endpoint
            What is called; never a public one, which needs no key and is not counted.
        seen
            Given the id of the key once its secret is verified, whatever becomes of the call.

        Raises
        ------
        ApiError
            With the documented code. Once the key is recognised its headers hold ``X-RateLimit-*``, and
            ``Retry-After`` on 429 and 503.
        """
        token = self._shape.read(headers)
        record = await self._verified(token)
        if seen is not None:
            seen.key_id = record.id
        rate, address = rate_limit(record.limits), self._address(client, headers)
        refusal = _refusal(record, address)
        if refusal is not None:
            refusal.headers.update(await self._headers_now(record))
            raise refusal
        try:
            status = await self._limiter.hit(record.id, rate)
        except StorageUnavailable as error:
            raise self._unavailable(LIMITER, error) from error
        answered, refused = rate_headers(rate, status), status.refused
        if refused is not None:
            limit = rate.by_option()[refused.option]
            raise ApiError(
                refused.code,
                f"The key's limit of {limit} {'call' if limit == 1 else 'calls'} in {refused.span} is used up.",
                {"window": refused.name, "limit": limit},
                answered,
            )
        caller = caller_of(record)(status, address, answered)
        if endpoint.id not in caller.callable_ids:
            raise endpoint_not_allowed(endpoint.id, headers=answered)
        return caller

    async def _verified(self, token: Token) -> KeyRecord:
        """Return the record of the key presented, in use and with its secret verified."""
        # The same work for every id, so that its time does not reveal whether the id exists.
        try:
            record = await self._store.key_or_another(token.key_id)
        except StorageUnavailable as error:
            raise self._unavailable(STORE, error) from error
        digest, made_with = self._digests.of_nobody if record is None else (record.digest, record.pepper_id)
        verified = self._digests.verify(token, digest, made_with)
        if not verified or record is None or record.id != token.key_id or not token.ours:
            raise ApiError("invalid_api_key", "This service issued no such key.", headers=NOT_A_KEY)
        _require_in_use(record)
        return record

    def _address(self, client: str | None, headers: Mapping[bytes, bytes]) -> IPAddress | None:
        forwarded = headers.get(b"x-forwarded-for") if self._hops else None
        chain = () if forwarded is None else (forwarded.decode("latin-1"),)
        return client_address(client, chain, self._hops)

    async def sign_link(self, key_id: str, text: str) -> str:
        """Sign a link in the name of a key that just called.

        Raises
        ------
        ApiError
            ``upstream_unavailable`` while the store does not answer; ``invalid_api_key`` when the key is gone meanwhile.
        """
        record = await self._read(Repository.key, key_id)
        made = None if record is None else self._digests.link_signature(record.digest, record.pepper_id, text)
        if made is None:
            raise ApiError("invalid_api_key", "This service issued no such key.", headers=NOT_A_KEY)
        return made

    async def link_holder(
        self, key_id: str, text: str, signature: str, client: str | None, headers: Mapping[bytes, bytes]
    ) -> Rights:
        """Return the rights of a link's key now; links are not counted, the call that signed them was.

        Raises
        ------
        ApiError
            ``link_invalid`` unless the signature is that of the text by this key; then whatever the key itself would be
            refused for: its status, its account, the address it is used from.
        """
        record = await self._read(Repository.key, key_id) if could_be_id(key_id) else None
        digest, made_with = self._digests.of_nobody if record is None else (record.digest, record.pepper_id)
        expected = self._digests.link_signature(digest, made_with, text) or ""
        if not hmac.compare_digest(expected.encode(), signature.encode()) or record is None:
            raise ApiError("link_invalid", "This link was altered, or was not signed here; ask for another.")
        _require_in_use(record)
        refusal = _refusal(record, self._address(client, headers))
        if refusal is not None:
            raise refusal
        return rights_of(record)

    async def _read(
        self, act: Callable[Concatenate[Repository, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            return await self._store.run(act, *args, **kwargs)
        except StorageUnavailable as error:
            raise self._unavailable(STORE, error) from error

    async def _headers_now(self, record: KeyRecord) -> dict[str, str]:
        try:
            (status,) = await self._limiter.status([(record.id, record.rate)])
        except StorageUnavailable:
            return {}  # the refusal is sent without them
        return rate_headers(record.rate, status)

    async def inventory(self, account_id: str) -> list[KeyUse]:
        """Return the keys of an account that are not revoked, newest first; empty for an unknown account."""
        return await self._rows(await self._read(Repository.keys, account_id))

    async def key(self, key_id: str) -> KeyUse | None:
        """Return one key, revoked ones included; None when there is none."""
        if not could_be_id(key_id):
            return None  # nor may PostgreSQL be asked for every text
        record = await self._read(Repository.key, key_id)
        return None if record is None else (await self._rows([record]))[0]

    async def _rows(self, records: Sequence[KeyRecord]) -> list[KeyUse]:
        try:
            statuses = await self._limiter.status([(record.id, record.rate) for record in records])
        except StorageUnavailable as error:
            raise self._unavailable(LIMITER, error) from error
        return [
            KeyUse(rights_of(record), status.usage(record.rate), self._shape.mask(record.id))
            for record, status in zip(records, statuses, strict=True)
        ]


def whole_seconds(microseconds: int) -> int:
    """Return the duration in seconds, rounded up."""
    return -(-microseconds // SECOND_US)


def rate_headers(rate: RateLimit, status: LimitStatus) -> dict[str, str]:
    """Return the ``X-RateLimit-*`` headers, and ``Retry-After`` when the call was refused.

    A window without a limit has no headers.
    """
    headers: dict[str, str] = {}
    for names, limit, used, reset in zip(_HEADERS, rate.limits, status.used, status.reset_us, strict=True):
        if limit is not None:
            headers[names[0]] = str(limit)
            headers[names[1]] = str(limit - used if used < limit else 0)
            headers[names[2]] = str(-(-reset // SECOND_US))  # `whole_seconds`, inlined for speed
    if status.refused is not None:
        headers["Retry-After"] = str(max(1, whole_seconds(status.retry_us)))
    return headers


def _require_in_use(record: KeyRecord) -> None:
    """Refuse a key that is suspended, revoked or past its expiry."""
    if record.status != KeyStatus.ACTIVE:
        code, message = _REFUSED_STATUS[KeyStatus(record.status)]
        raise ApiError(code, message, headers=NOT_A_KEY)
    if record.expires_at is not None and record.expires_at <= time.time_ns() // 1000:
        raise ApiError("key_expired", "This key's expiry has passed; issue another.", headers=NOT_A_KEY)


def _refusal(record: KeyRecord, address: IPAddress | None) -> ApiError | None:
    """Return why a recognised key is refused for its account or its address, before any call is counted."""
    if not record.account_active:
        return ApiError("account_inactive", "The account that owns this key is deactivated.", headers={})
    if record.addresses is not None and not address_allowed(address, record.addresses):
        where = {"ip": UNKNOWN if address is None else str(address)}
        return ApiError("ip_not_allowed", "This key may not be used from this address.", where, {})
    return None
