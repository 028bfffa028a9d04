"""Downloads the file of a table by signed link: without the key, in resumable pieces, checked against its digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple
from urllib.parse import urlsplit

import httpx

from alpha_results_client.errors import ApiError, UnexpectedAnswer
from alpha_results_client.exchange import (
    Broken,
    Fetch,
    Plan,
    Reply,
    Sleep,
    backoff_seconds,
    exchange,
    make_target,
    parse_failure,
)
from alpha_results_client.settings import Settings
from alpha_results_client.values import Value

DOWNLOAD = "catalog.alphas.tables.download"
_REPORT_EVERY = 1 << 20
"""Bytes between two reports of progress."""
_DIGEST = re.compile("[0-9a-f]{64}")


class LinkFailed(Exception):
    """The file cannot be had by link; pages may do. `permanent` when the next call would fail the same way."""

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        self.reason = reason
        self.permanent = permanent
        super().__init__(reason)


class SignedLink(NamedTuple):
    """A file as the service describes it, and where it can be fetched for a few minutes."""

    url: str
    book: str | None
    rows: int
    size: int
    sha256: str
    meta: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"SignedLink(sha256={self.sha256!r})"  # the address is a credential


def ask_for_link(settings: Settings, path: Mapping[str, str], query: Mapping[str, Value]) -> Plan[SignedLink]:
    """Ask for the link of a table; one call.

    Parameters
    ----------
    path
        ``alpha`` and ``table``.
    query
        ``book`` and ``snapshot``, where they are wanted.

    Raises
    ------
    LinkFailed
        When the address is one that this client does not go to.
    ApiError, NoAnswer, UnexpectedAnswer
        As :func:`exchange`.
    """
    body = yield from exchange(settings, make_target(DOWNLOAD, path, query))
    try:
        data, meta = body["data"], body["meta"]
        link = SignedLink(
            str(data["url"]),
            data["book"],
            int(data["rows"]),
            int(data["size_bytes"]),
            str(data["sha256"]),
            meta,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"{DOWNLOAD} answered something that is not a link") from error
    if not _DIGEST.fullmatch(link.sha256):
        raise UnexpectedAnswer(f"{DOWNLOAD} answered something that is not a link")
    schemes = {"https"} if settings.base_url.startswith("https:") else {"http", "https"}
    if urlsplit(link.url).scheme not in schemes:
        raise LinkFailed("the link is not encrypted as the service's own address is", permanent=True)
    return link


def fetch_file(
    settings: Settings,
    link: SignedLink,
    renew: Callable[[], Plan[SignedLink]],
    report: Callable[[int, int], None],
) -> Plan[bytes]:
    """Fetch the file of a link, or take it from the cache, and check it against its digest.

    A download is resumed after a broken connection. A link that expired is replaced.

    Parameters
    ----------
    renew
        Requests another link of the same snapshot.
    report
        Called with bytes so far and bytes in all.

    Raises
    ------
    LinkFailed
        When the file cannot be reached, is refused, or is not what the service says it is.
    ApiError, NoAnswer, UnexpectedAnswer
        When a new link cannot be obtained.
    """
    stored = None if settings.cache is None else settings.cache.read_file(link.sha256)
    if stored is not None:
        report(link.size, link.size)
        return stored
    into = _PartialFile(link, report)
    attempt, renewed = 0, False
    while True:
        had = into.received
        reply: Reply | Broken = yield Fetch(link.url, into.request_headers(), into)
        if into.received > had:
            attempt, renewed = 0, False
        if into.complete:
            break
        if isinstance(reply, Reply) and reply.status == httpx.codes.FORBIDDEN and not renewed:
            renewed = True
            link = yield from renew()
            into = into if into.link.sha256 == link.sha256 else _PartialFile(link, report)
            continue
        failure, wait = _failure(settings, reply, into)
        # An address that callers cannot reach is not waited for as the service itself is.
        retries = min(1, settings.retries) if failure.permanent else settings.retries
        wait = backoff_seconds(attempt) if wait is None else wait
        if attempt >= retries or wait > settings.longest_wait:
            raise failure
        attempt += 1
        yield Sleep(wait)
    data = into.data()
    if settings.cache is not None:
        settings.cache.write_file(link.sha256, data)
    return data


def _failure(
    settings: Settings, reply: Reply | Broken, into: _PartialFile
) -> tuple[LinkFailed, float | None]:
    """Return what an attempt failed for, and the wait that was named; raises what will not pass."""
    if isinstance(reply, Broken):
        return LinkFailed(f"the link gave no answer: {reply.reason}", permanent=not into.received), None
    if reply.status in {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT}:
        return LinkFailed("the file fetched by link is not the one described"), None
    refusal = parse_failure(settings, reply)
    failure = LinkFailed(f"the link was refused with {refusal.code}")
    if reply.status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
        into.restart()
    elif not refusal.may_pass:
        raise failure
    return failure, refusal.retry_after


class _PartialFile:
    """The file as far as it came."""

    def __init__(self, link: SignedLink, report: Callable[[int, int], None]) -> None:
        self.link = link
        self._report = report
        self._etag: str | None = None
        self.restart()

    def restart(self) -> None:
        """Forget what came."""
        self._pieces: list[bytes] = []
        self._digest = hashlib.sha256()
        self._reported = self.received = 0
        self.complete = False

    def request_headers(self) -> Mapping[str, str]:
        """Ask for the rest of the very file that was begun; a coding would make its bytes others."""
        headers = {"Accept-Encoding": "identity"}
        if self.received and self._etag is not None:
            headers |= {"Range": f"bytes={self.received}-", "If-Range": self._etag}
        else:
            self.restart()
        return headers

    def begin(self, status: int, headers: Mapping[str, str]) -> bool:
        """Take what follows if it is the file from its begin, or from where it stopped."""
        if status == httpx.codes.OK:
            self.restart()
        elif status != httpx.codes.PARTIAL_CONTENT:
            return False
        elif not headers.get("content-range", "").startswith(f"bytes {self.received}-"):
            self.restart()
            return False
        etag = headers.get("etag", "")
        self._etag = (
            etag if etag.startswith('"') else None
        )  # only a strong one tells that the bytes are the same
        return True

    def take(self, piece: bytes) -> bool:
        """Take the next bytes; a file that is longer than described, or another one, is begun anew."""
        self._pieces.append(piece)
        self._digest.update(piece)
        self.received += len(piece)
        self.complete = self.received == self.link.size and self._digest.hexdigest() == self.link.sha256
        if self.received >= self.link.size and not self.complete:
            self.restart()
            return False
        if self.complete or self.received - self._reported >= _REPORT_EVERY:
            self._reported = self.received
            self._report(self.received, self.link.size)
        return True

    def data(self) -> bytes:
        """Return the file."""
        return b"".join(self._pieces)


def is_permanent(error: ApiError) -> bool:
    """Return whether the key may request no links at all, or the release of the service has none."""
    return error.code in {"endpoint_not_allowed", "not_found", "method_not_allowed"} or (
        error.status == httpx.codes.NOT_FOUND and error.code == f"http_{error.status}"
    )
