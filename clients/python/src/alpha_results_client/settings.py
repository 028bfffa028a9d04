"""Settings of a client, validated once."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import math
import os
import time
from copy import copy
from importlib.metadata import version
from numbers import Real
from urllib.parse import urlsplit

import httpx

from alpha_results_client.cache import DiskCache
from alpha_results_client.errors import AlphaResultsClientError
from alpha_results_client.parquet import READERS

VERSION = version("alpha-results-client")
_DISABLED_SECONDS = 600.0
"""Seconds for which no link is tried after one failed."""
_ANNOUNCED_SECONDS = 1.0
FRAMES = ("polars", "pandas", "rows")
URL = "ALPHA_RESULTS_URL"
"""Variable with the address of the service."""
KEY = "ALPHA_RESULTS_KEY"
"""Variable with the API key."""
LOG = logging.getLogger("alpha_results_client")


class Settings:
    """Settings shared by all calls of a client. Its text form contains no key.

    Parameters
    ----------
    base_url
        Address of the service, with or without ``/v1``; None reads the variable :data:`URL`.
    key
        The API key; None reads the variable :data:`KEY`.
    frames
        Type of the returned tables.
    retries
        Further attempts after a temporary failure.
    longest_wait
        Longest wait in seconds; a longer ``Retry-After`` raises instead.
    cache
        Store of answers by entity tag; None for no store.
    links
        Whether tables may be fetched as files by signed link.

    Raises
    ------
    AlphaResultsClientError
        If a value is invalid; no message contains the key.
    """

    def __init__(
        self,
        base_url: str | None,
        key: str | None,
        frames: str,
        retries: int,
        longest_wait: float,
        cache: DiskCache | None,
        links: bool = True,
    ) -> None:
        base_url = _required("base_url", base_url, URL)
        key = _required("key", key, KEY)
        if not _is_url(base_url):
            raise AlphaResultsClientError("base_url must be a URL such as https://results.example")
        parts = urlsplit(base_url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise AlphaResultsClientError("base_url holds more than an address: give the key as key=")
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise AlphaResultsClientError("key must be one word of plain characters, as it was issued")
        if frames not in FRAMES:
            raise AlphaResultsClientError(f"frames must be one of {', '.join(FRAMES)}")
        if not (is_number(retries) and retries >= 0):
            raise AlphaResultsClientError("retries must be 0 or more")
        if not (is_number(longest_wait) and longest_wait >= 0):
            raise AlphaResultsClientError("longest_wait must be 0 or more seconds")
        self.base_url = base_url.rstrip("/").removesuffix("/v1")
        self.frames = frames
        self.retries = retries
        self.longest_wait = longest_wait
        self.cache = cache
        # Reason for paging, and the monotonic time until which links are not tried.
        self._links_disabled = (_no_links(frames, links), math.inf)
        self._announced: set[str] = set()
        self.authorization = _Authorization(key)
        # Two keys may get different answers.
        self.identity = hashlib.sha256(f"{self.base_url} {key}".encode()).hexdigest()

    def as_rows(self) -> Settings:
        """Return the same settings for rows instead of frames."""
        changed = copy(self)
        changed.frames = "rows"
        return changed

    def links_disabled_reason(self) -> str | None:
        """Return why tables are paged now; None if links may be tried."""
        reason, until = self._links_disabled
        return reason if time.monotonic() < until else None

    def disable_links(self, reason: str) -> None:
        """Stop trying links for a while."""
        self._links_disabled = reason, time.monotonic() + _DISABLED_SECONDS

    def announce_wait(self, reason: str, seconds: float) -> None:
        """Log the first long wait for each reason."""
        if seconds >= _ANNOUNCED_SECONDS and reason not in self._announced:
            self._announced.add(reason)
            LOG.warning("%s: waiting %.0f s; later waits for this reason are not logged", reason, seconds)

    def __repr__(self) -> str:
        return f"{self.base_url!r}, frames={self.frames!r}"


def _required(name: str, value: str | None, variable: str) -> str:
    """Return an argument, or the value of its variable at the time of the call."""
    text = os.environ.get(variable) if value is None else value
    if text is None:
        raise AlphaResultsClientError(f"no {name} was given: pass it, or set {variable}")
    return text


def is_number(value: object) -> bool:
    """Whether a value is a number."""
    return isinstance(value, Real)


def _is_url(text: str) -> bool:
    """Whether a text is an HTTP address with a valid host and port."""
    try:
        httpx.URL(text)  # refuses some hosts that `urlsplit` accepts
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except (httpx.InvalidURL, ValueError):
        return False


def _no_links(frames: str, links: bool) -> str | None:
    """Return why tables cannot be fetched by link; None if they can."""
    if not links:
        return "links=False"
    if frames not in READERS:
        return f"frames={frames!r} reads no Parquet"
    return None if importlib.util.find_spec(READERS[frames]) else f"{READERS[frames]} is not installed"


class _Authorization:
    """The authorization header, in a wrapper that hides it from tracebacks, representations and pickles."""

    __slots__ = ("_value",)

    def __init__(self, key: str) -> None:
        self._value = f"Bearer {key}"

    def __repr__(self) -> str:
        return "<a key>"

    def __reduce__(self) -> str:
        raise TypeError("a client holds a key and cannot be pickled: create another where it is needed")

    @property
    def value(self) -> str:
        """The header's value."""
        return self._value
