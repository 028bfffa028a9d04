"""One call with retries and the cache, as a plan that a blocking or an asynchronous client runs.

A plan is a generator that yields the next step, receives its outcome, and returns the result. The two clients thus share
all logic and differ only in how they wait.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Generator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Callable, NamedTuple, TypeVar, Union
from urllib.parse import quote, urlencode

import httpx

from alpha_results_client.declared import ENDPOINTS
from alpha_results_client.errors import ApiError, NoAnswer, UnexpectedAnswer, error_class
from alpha_results_client.settings import Settings
from alpha_results_client.values import Query

T = TypeVar("T")
_FIRST_BACKOFF = 0.5


class Send(NamedTuple):
    """Send a GET request with these headers: to the service with the key, or to the address of a link without it."""

    target: str
    headers: Mapping[str, str]

    @property
    def is_to_service(self) -> bool:
        """Whether the target is a path of the service, not the address of a link."""
        return self.target.startswith("/")


class Work(NamedTuple):
    """Run CPU-bound work; its exceptions are raised to the caller."""

    call: Callable[[], Any]


class Sleep(NamedTuple):
    """Wait before the next attempt."""

    seconds: float


class Reply(NamedTuple):
    """A response, its body decoded from any content coding."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Broken(NamedTuple):
    """The reason why an answer is missing or incomplete, and the part received.

    Without the exception, whose traceback holds the headers sent.
    """

    reason: str
    partial: Reply | None = None


def outcome(answer: httpx.Response | None, pieces: Sequence[bytes], reason: str | None) -> Reply | Broken:
    """Return the reply to a request, or the part received and the `reason` why the connection broke."""
    reply = None if answer is None else Reply(answer.status_code, answer.headers, b"".join(pieces))
    return reply if reply is not None and reason is None else Broken(reason or "", reply)


Step = Union[Send, Work, Sleep]
Plan = Generator[Step, Any, T]
"""A plan receives a :class:`Reply` or :class:`Broken` for a request, the result for work, None for a wait."""


class Link(httpx.URL):
    """A signed URL, which is a credential: its text form has no query string."""

    def __str__(self) -> str:
        return super().__str__().partition("?")[0]


def make_target(endpoint: str, path: Mapping[str, str], query: Query) -> str:
    """Return path and query of a call, without values that are None."""
    url_path = ENDPOINTS[endpoint].path
    for name, value in path.items():
        url_path = url_path.replace(f"{{{name}}}", quote(value, safe=""))
    pairs = [(name, value) for name, value in query.items() if value is not None]
    # Commas stay unescaped: at three bytes each, a long list would exceed the service's limit on a URL.
    return f"{url_path}?{urlencode(pairs, safe=',')}" if pairs else url_path


def exchange(settings: Settings, target: str) -> Plan[Any]:
    """Request one target and return the decoded JSON body.

    Raises
    ------
    ApiError
        If the service refuses, fails in every attempt, or asks for a longer wait than allowed.
    NoAnswer
        If it cannot be reached.
    UnexpectedAnswer
        If the answer is not from the service.
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
    """Send a request with retries, and return an answer with status 200, or 304 for a request with an entity tag.

    An interrupted answer is resumed where it stopped, if its entity tag shows that the bytes are the same.

    Raises
    ------
    ApiError, NoAnswer
        As for :func:`exchange`.
    """
    accepted = {httpx.codes.OK} | ({httpx.codes.NOT_MODIFIED} if "If-None-Match" in send.headers else set())
    partial: Reply | None = None
    attempt, has_body = 0, False
    while True:
        failure: ApiError | NoAnswer
        reply: Reply | Broken = yield send if partial is None else _resume(send, partial)
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
        elif partial is not None and _is_complete(partial, reply):
            return partial
        else:
            failure = parse_failure(settings, reply)
            wait = failure.retry_after
            if not failure.may_pass:
                raise failure
        if wait is None:
            wait = backoff_seconds(attempt)
        # A link that cannot be reached is retried once at most, unlike the service.
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
    """Whether a broken response can be resumed: it has no content coding, and a strong tag."""
    is_plain = part.headers.get("content-encoding", "identity") == "identity"
    return part.status == httpx.codes.OK and is_plain and part.headers.get("etag", "").startswith('"')


def _resume(send: Send, partial: Reply) -> Send:
    """Return the request for the rest of a partial answer, if it is unchanged."""
    span = {"Range": f"bytes={len(partial.body)}-", "If-Range": partial.headers["etag"]}
    return send._replace(headers={**send.headers, **span})


def _is_complete(partial: Reply, reply: Reply) -> bool:
    """Whether no byte follows those of a partial answer: it broke after the last one, before its end was marked."""
    no_rest = reply.status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE
    return no_rest and reply.headers.get("content-range") == f"bytes */{len(partial.body)}"


def _joined(partial: Reply | None, reply: Reply) -> Reply:
    """Return a partial answer with its continuation; the reply itself if it is not a continuation."""
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
    """Return the default seconds before another attempt."""
    wait: float = _FIRST_BACKOFF * 2**attempt * (1 + random.random() / 2)  # noqa: S311 - spreads callers, keeps no secret
    return wait


def parse_failure(settings: Settings, reply: Reply) -> ApiError:
    """Return the exception of an error response."""
    retry_after = parse_retry_after(reply.headers.get("retry-after"))
    try:
        error = json.loads(reply.body)["error"]
        code, message = str(error["code"]), str(error["message"])
        details, request_id = error.get("details"), error.get("request_id")
    except (ValueError, KeyError, TypeError, AttributeError):
        # A proxy's error page: only its status is usable.
        code, message = (
            f"http_{reply.status}",
            f"{settings.base_url} answered {reply.status} without an error envelope",
        )
        details, request_id = None, reply.headers.get("x-request-id")
    return error_class(code, reply.status)(code, message, details, request_id, reply.status, retry_after)


def parse_retry_after(header: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header with a number or a date; None for anything else."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
