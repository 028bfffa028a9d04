"""One call and its answer, with retries and the cache, as a plan that a blocking or an asynchronous client carries out.

A plan is a generator: it yields the next step, is sent what came of it, and returns its result. So the two clients share
every rule and differ in who waits.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Generator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Callable, NamedTuple, TypeVar, Union
from urllib.parse import quote, urlencode

import httpx

from alpha_results_client.declared import ENDPOINTS
from alpha_results_client.errors import ApiError, NoAnswer, UnexpectedAnswer, error_class
from alpha_results_client.settings import Settings
from alpha_results_client.values import Value, format_value

T = TypeVar("T")
_FIRST_BACKOFF = 0.5


class Send(NamedTuple):
    """Send a GET request with these headers: to the service, with the key, or without it to the address of a link."""

    target: str
    headers: Mapping[str, str]

    @property
    def is_to_service(self) -> bool:
        """Whether the target is a path of the service, rather than the address of a link."""
        return self.target.startswith("/")


class Work(NamedTuple):
    """Do something that takes a processor's time; what it raises is raised to the caller."""

    call: Callable[[], Any]


class Sleep(NamedTuple):
    """Wait before the next attempt."""

    seconds: float


class Reply(NamedTuple):
    """What came back, its body decoded from any content coding."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Broken(NamedTuple):
    """Why an answer is missing or incomplete, and the part that arrived; not the exception, whose traceback holds the headers sent."""

    reason: str
    partial: Reply | None = None


def outcome(answer: httpx.Response | None, pieces: Sequence[bytes], reason: str | None) -> Reply | Broken:
    """Return the reply of a request, or its arrived part and the `reason` why it broke off."""
    reply = None if answer is None else Reply(answer.status_code, answer.headers, b"".join(pieces))
    return reply if reply is not None and reason is None else Broken(reason or "", reply)


Step = Union[Send, Work, Sleep]
Plan = Generator[Step, Any, T]
"""Sent a :class:`Reply` or :class:`Broken` for a request, the result of work, None for a wait."""


class Link(httpx.URL):
    """A signed address, which is a credential: what logs write of it has no query string."""

    def __str__(self) -> str:
        return super().__str__().partition("?")[0]


def make_target(endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> str:
    """Return path and query of a call; values that are None are left out."""
    filled = ENDPOINTS[endpoint].path
    for name, value in path.items():
        filled = filled.replace(f"{{{name}}}", quote(value, safe=""))
    pairs = [(name, format_value(value)) for name, value in query.items() if value is not None]
    return f"{filled}?{urlencode(pairs)}" if pairs else filled


def exchange(settings: Settings, target: str) -> Plan[Any]:
    """Ask for one target and return the body of the answer, read from JSON.

    Raises
    ------
    ApiError
        When the service refuses, or fails as often as it is tried, or names a wait longer than is allowed.
    NoAnswer
        When it cannot be reached.
    UnexpectedAnswer
        When something else answers.
    """
    name = f"{settings.identity} {target}"
    stored = None if settings.cache is None else settings.cache.read(name)
    headers = {} if stored is None else {"If-None-Match": stored.etag}
    reply = yield from request(settings, Send(target, headers))
    if stored is not None and reply.status == httpx.codes.NOT_MODIFIED:
        return _read(settings, stored.body)
    document = _read(settings, reply.body)
    etag = reply.headers.get("etag")
    if settings.cache is not None and etag:
        settings.cache.write(name, etag, reply.body)
    return document


def request(settings: Settings, send: Send) -> Plan[Reply]:
    """Send a request, again where a failure may pass, and return an answer of status 200, or of 304 to a request with an entity tag.

    An answer that breaks off is continued where it stopped, if its entity tag says that the bytes are the same.

    Raises
    ------
    ApiError, NoAnswer
        As :func:`exchange`.
    """
    accepted = {httpx.codes.OK} | ({httpx.codes.NOT_MODIFIED} if "If-None-Match" in send.headers else set())
    partial: Reply | None = None
    attempt, has_body = 0, False
    while True:
        failure: ApiError | NoAnswer
        reply: Reply | Broken = yield send if partial is None else _rest_of(send, partial)
        if isinstance(reply, Broken):
            failure, wait = NoAnswer(f"{settings.base_url} gave no answer: {reply.reason}"), None
            part = None if reply.partial is None else _joined(partial, reply.partial)
            has_body = has_body or bool(part and part.body)
            if part is not None and _is_resumable(part):
                attempt = 0 if partial is None or len(part.body) > len(partial.body) else attempt
                partial = part
        elif reply.status in accepted:
            return reply
        elif partial is not None and reply.status == httpx.codes.PARTIAL_CONTENT:
            return _joined(partial, reply)
        else:
            failure = parse_failure(settings, reply)
            wait = failure.retry_after
            if not failure.may_pass:
                raise failure
        if wait is None:
            wait = backoff_seconds(attempt)
        # The address of a link that callers cannot reach is not waited for as the service is.
        retries = settings.retries if send.is_to_service or has_body else min(1, settings.retries)
        if attempt >= retries or wait > settings.longest_wait:
            raise failure
        attempt += 1
        limited = isinstance(failure, ApiError) and failure.status == httpx.codes.TOO_MANY_REQUESTS
        settings.announce_wait(
            "the key is at its limit of calls" if limited else f"{settings.base_url} does not answer yet",
            wait,
        )
        yield Sleep(wait)


def _is_resumable(part: Reply) -> bool:
    """Whether bytes can be counted as the server counts them, and a strong tag says when they are the same."""
    is_plain = part.headers.get("content-encoding", "identity") == "identity"
    return part.status == httpx.codes.OK and is_plain and part.headers.get("etag", "").startswith('"')


def _rest_of(send: Send, partial: Reply) -> Send:
    """Request the rest of a partial answer, provided that it is still the same."""
    span = {"Range": f"bytes={len(partial.body)}-", "If-Range": partial.headers["etag"]}
    return send._replace(headers={**send.headers, **span})


def _joined(partial: Reply | None, reply: Reply) -> Reply:
    """Return a partial answer with its continuation; the reply itself where it continues none."""
    if partial is None or not reply.headers.get("content-range", "").startswith(
        f"bytes {len(partial.body)}-"
    ):
        return reply
    return partial._replace(body=partial.body + reply.body)


def _read(settings: Settings, body: bytes) -> Any:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise UnexpectedAnswer(f"{settings.base_url} answered something that is not JSON") from error
    if not isinstance(document, dict):
        raise UnexpectedAnswer(f"{settings.base_url} answered JSON that is not an object")
    return document


def backoff_seconds(attempt: int) -> float:
    """Return the seconds before another attempt where the service names none."""
    wait: float = _FIRST_BACKOFF * 2**attempt * (1 + random.random() / 2)  # noqa: S311 - spreads callers, keeps no secret
    return wait


def parse_failure(settings: Settings, reply: Reply) -> ApiError:
    """Return what a refusal says."""
    retry_after = parse_retry_after(reply.headers.get("retry-after"))
    try:
        error = json.loads(reply.body)["error"]
        code, message = str(error["code"]), str(error["message"])
        details, request_id = error.get("details"), error.get("request_id")
    except (ValueError, KeyError, TypeError, AttributeError):
        # A proxy's own page: its status is all there is to go by.
        code, message = (
            f"http_{reply.status}",
            f"{settings.base_url} answered {reply.status} without an error envelope",
        )
        details, request_id = None, reply.headers.get("x-request-id")
    return error_class(code, reply.status)(code, message, details, request_id, reply.status, retry_after)


def parse_retry_after(header: str | None) -> float | None:
    """Return how many seconds a ``Retry-After`` names, as a number or as a date; None for what is neither."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    now = dt.datetime.now(at.tzinfo or dt.timezone.utc)
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=dt.timezone.utc)).timestamp() - now.timestamp())
