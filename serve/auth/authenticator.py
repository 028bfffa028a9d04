"""Every check a call passes before its own parameters are looked at."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final, Protocol

import structlog

from schemas.endpoint import Endpoint
from schemas.errors import ApiError, StorageUnavailable
from schemas.extras import extra
from schemas.limits import LIMIT_WINDOWS
from serve.auth.caller import Caller, KeyRow
from serve.auth.client_address import IPAddress, client_address
from serve.auth.key_view import caller_with, key_row, make_link_holder
from serve.auth.limits import Limiter
from serve.auth.limits.clocks import wall_us
from serve.auth.limits.in_memory import InMemoryLimiter
from serve.auth.limits.policy import RateLimit, Usage
from serve.auth.limits.sliding_window import LimitStatus, rate_headers
from serve.auth.link_holder import LinkHolder
from serve.auth.refusals import NOT_A_KEY, endpoint_not_allowed, make_refusal, require_in_use
from serve.auth.settings import AccessSettings
from serve.auth.store.keys import KeyRecord, Store, open_database
from serve.auth.store.peppers import load_digests, require_peppers
from serve.auth.store.tables import KeyStatus
from serve.auth.tokens import NO_PEPPER, Credentials, Digests, Token, TokenShape, could_be_id

__all__ = ["Authenticator", "Caller", "KeyRow", "Usage"]

UNAVAILABLE_RETRY_SECONDS: Final = 1
"""``Retry-After`` while the store or the counts cannot be reached."""
ALLOWED: Final = "allowed"
STORE: Final = "access_store"
LIMITER: Final = "limiter"
_UNKNOWN_KEY_ID: Final = "-" * 16
"""Has the length of a key's id and a character that none has."""

_log = structlog.get_logger(__name__)


class Seen(Protocol):
    """What is noted of a call while it is checked."""

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

    def __init__(self, settings: AccessSettings, store: Store, limiter: Limiter, digests: Digests) -> None:
        self._hops = settings.trusted_hops
        self._shape = TokenShape(settings.token_prefix, settings.environment)
        self._store = store
        self._limiter = limiter
        self._digests = digests
        self.decisions = dict.fromkeys((ALLOWED, *(window.name for window in LIMIT_WINDOWS)), 0)
        """Calls of recognised keys since the start: allowed, or refused for want of room in a window."""
        self.unreachable = {STORE: 0, LIMITER: 0}
        """Calls that could not be checked since the start, by the part that did not answer."""

    def _unavailable(self, part: str, error: StorageUnavailable) -> ApiError:
        """Fail closed: no call passes while what it has to be checked against cannot be reached."""
        self.unreachable[part] += 1
        _log.warning("access_unavailable", part=part, reason=str(error), cause=type(error.__cause__).__name__)
        return ApiError(
            "upstream_unavailable",
            "Keys cannot be checked for the moment; try again.",
            headers={"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)},
        )

    @classmethod
    async def open(cls, settings: AccessSettings) -> Authenticator:
        """Open the store and the limiter.

        Redis may be away at this moment; calls answer 503 until it is there.

        Raises
        ------
        SettingsError
            When the settings cannot count calls exactly, the store has another schema, or keys in use have a pepper that is
            not here.
        StorageUnavailable
            When the store does not answer.
        """
        settings.require_serving()
        database = await open_database(settings, writable=False)
        store = Store(database)
        try:
            await require_peppers(settings, database, wall_us())
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
        """Write what is unsaved and let every connection go."""
        try:
            await self._limiter.close()
        finally:
            await self._store.close()

    async def require_limiter(self) -> None:
        """Raise SettingsError or StorageUnavailable, with the reason, when calls cannot be counted now."""
        await self._limiter.require()

    async def ask_store(self) -> None:
        """Ask the store for a key that nobody has; raises StorageUnavailable when it does not answer."""
        await self._store.find(_UNKNOWN_KEY_ID)

    async def ask_limiter(self) -> None:
        """Ask where a key that nobody has stands, charging nothing; raises StorageUnavailable as above."""
        await self._limiter.status([(_UNKNOWN_KEY_ID, RateLimit())])

    async def authorize(
        self,
        credentials: Credentials,
        client: str | None,
        endpoint: Endpoint,
        seen: Seen | None = None,
    ) -> Caller:
        """Run the checks from the key to the endpoint allow-list, in the documented order.

        Parameters
        ----------
        credentials
            Of the request.
        client
            Address of the other end of the connection; None when it has none.
        endpoint
            What is called; never a public one, which needs no key and is not counted.
        seen
            Called with the id of the key once its secret is verified, whatever becomes of the call.

        Raises
        ------
        ApiError
            With the documented code. Once the key is recognised its headers hold ``X-RateLimit-*``, and
            ``Retry-After`` on 429 and 503.
        """
        token = self._token(credentials)
        try:
            record = self._verified(token, await self._store.find(token.key_id))
        except StorageUnavailable as error:
            raise self._unavailable(STORE, error) from error
        if seen is not None:
            seen.key_id = record.id
        address = client_address(client, credentials.forwarded if self._hops else (), self._hops)
        if not record.account_active or record.addresses is not None:
            refusal = make_refusal(record, address)
            if refusal is not None:
                refusal.headers.update(await self._headers_now(record))
                raise refusal
        try:
            status = await self._limiter.hit(record.id, record.rate)
        except StorageUnavailable as error:
            raise self._unavailable(LIMITER, error) from error
        return self._counted(record, status, address, endpoint)

    def _token(self, credentials: Credentials) -> Token:
        if credentials.token is None:
            raise ApiError(
                "missing_api_key",
                "Send the key as `Authorization: Bearer <key>`.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        token = self._shape.parse(credentials.token)
        if token is None:
            raise ApiError(
                "malformed_api_key", "The bearer value is not of the shape of a key.", headers=NOT_A_KEY
            )
        return token

    def _verified(self, token: Token, record: KeyRecord | None) -> KeyRecord:
        """Return the record of the key presented, in use and with its secret verified."""
        digest, made_with = (record.digest, record.pepper_id) if record else (None, None)
        # First the work, whatever else there is to say: how long it takes tells nobody which it was.
        if not self._digests.verify(token, digest, made_with) or record is None or not token.ours:
            raise ApiError("invalid_api_key", "This service issued no such key.", headers=NOT_A_KEY)
        if record.status != KeyStatus.ACTIVE or record.expires_at is not None:
            require_in_use(record)
        return record

    async def sign_link(self, key_id: str, text: str) -> str:
        """Sign a link in the name of a key that just called.

        Raises
        ------
        ApiError
            ``upstream_unavailable`` while the store does not answer; ``invalid_api_key`` when the key is gone meanwhile.
        """
        record = await self._find(key_id)
        made = None if record is None else self._digests.link_signature(record.digest, record.pepper_id, text)
        if made is None:
            raise ApiError("invalid_api_key", "This service issued no such key.", headers=NOT_A_KEY)
        return made

    async def link_holder(
        self, key_id: str, text: str, signature: str, client: str | None, credentials: Credentials
    ) -> LinkHolder:
        """Return what the key of a link may read now; the link is not counted, the call that made it was.

        Raises
        ------
        ApiError
            ``link_invalid`` unless the signature is that of the text by this key; then whatever the key itself would be
            refused for: its status, its account, the address it is used from.
        """
        record = await self._find(key_id) if could_be_id(key_id) else None
        digest, made_with = (record.digest, record.pepper_id) if record else (b"", NO_PEPPER)
        expected = self._digests.link_signature(digest, made_with, text) or ""
        if not hmac.compare_digest(expected.encode(), signature.encode()) or record is None:
            raise ApiError("link_invalid", "This link was altered, or was not signed here; ask for another.")
        require_in_use(record)
        refusal = make_refusal(record, client_address(client, credentials.forwarded, self._hops))
        if refusal is not None:
            raise refusal
        return make_link_holder(record)

    async def _find(self, key_id: str) -> KeyRecord | None:
        try:
            return await self._store.find(key_id)
        except StorageUnavailable as error:
            raise self._unavailable(STORE, error) from error

    def _counted(
        self, record: KeyRecord, status: LimitStatus, address: IPAddress | None, endpoint: Endpoint
    ) -> Caller:
        """Return the caller of a call that was counted, unless a limit or the endpoint list refuses it."""
        rate, refused = record.rate, status.refused
        headers = rate_headers(rate, status)
        self.decisions[ALLOWED if refused is None else refused.name] += 1
        if refused is not None:
            limit = rate.columns()[refused.column]
            raise ApiError(
                refused.code,
                f"The key's limit of {limit} calls in {refused.span} is used up.",
                {"window": refused.name, "limit": limit},
                headers,
            )
        caller = caller_with(record)(status, address, headers)
        if endpoint.id not in caller.callable_ids:
            raise endpoint_not_allowed(endpoint, headers)
        return caller

    async def _headers_now(self, record: KeyRecord) -> dict[str, str]:
        try:
            (status,) = await self._limiter.status([(record.id, record.rate)])
        except StorageUnavailable:
            return {}  # the refusal stands without them
        return rate_headers(record.rate, status)

    async def inventory(self, account_id: str) -> list[KeyRow]:
        """Return the keys of an account that are not revoked, newest first; empty for an unknown account."""
        try:
            records = await self._store.owned_by(account_id)
        except StorageUnavailable as error:
            raise self._unavailable(STORE, error) from error
        return await self._rows(records)

    async def key(self, key_id: str) -> KeyRow | None:
        """Return one key, revoked ones included; None when there is none."""
        if not could_be_id(key_id):
            return None  # nor may PostgreSQL be asked for every text
        try:
            record = await self._store.find(key_id)
        except StorageUnavailable as error:
            raise self._unavailable(STORE, error) from error
        return None if record is None else (await self._rows([record]))[0]

    async def _rows(self, records: Sequence[KeyRecord]) -> list[KeyRow]:
        try:
            statuses = await self._limiter.status([(record.id, record.rate) for record in records])
        except StorageUnavailable as error:
            raise self._unavailable(LIMITER, error) from error
        return [
            key_row(record, status.usage(record.rate), self._shape.mask(record.id))
            for record, status in zip(records, statuses, strict=True)
        ]
