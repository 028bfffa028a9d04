"""Failures as HTTP responses: the error envelope, and which error the caller gets for an exception."""

from __future__ import annotations

import errno
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Final

import orjson
import structlog
from polars.exceptions import PanicException

from schemas.endpoint import AllowListScope, Caching
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES
from schemas.errors import (
    AlphaNotPublished,
    ApiError,
    SnapshotError,
    SnapshotNotKept,
    StorageUnavailable,
    causes,
)
from serve.compute import CallerLeft
from serve.http.request import Request
from serve.http.responses import Response

_log = structlog.get_logger("serve.http.errors")

_CALLER_LEFT: Final = "caller_left"
"""Log code of a request whose caller disconnected; the status below is logged and never sent."""
_CALLER_LEFT_STATUS: Final = 499
_RETRY_SECONDS: Final = 2
"""``Retry-After`` of a failure of unknown duration."""
_MAX_SEGMENT: Final = 16
"""Maximum characters of a path's segment that are compared; every declared one is shorter."""


def _segments(path: str) -> list[str]:
    """Return the segments of a path below ``/v1``, cut so that comparing them costs little before a key is checked."""
    return [x[:_MAX_SEGMENT] for x in path.split("/") if x not in ("", "v1")]


_PATHS: Final = {x.path: _segments(x.path) for x in ENDPOINTS.values() if not x.admin}
_SIMILAR: Final = 0.6
"""Minimum similarity of each segment; the default of :func:`difflib.get_close_matches`."""


def _envelope(error: ApiError, request: Request) -> bytes:
    envelope = {
        "code": error.code,
        "message": error.message,
        "details": error.details,
        "request_id": request.id,
    }
    return orjson.dumps({"error": envelope})


def no_such_path(path: str) -> ApiError:
    """Return the error of a path without a route, which names the most similar declared one."""
    segments = _segments(path)

    def similarity(declared: str) -> float:
        others = [(x, y) for x, y in zip(segments, _PATHS[declared], strict=True) if x != y and y[0] != "{"]
        return min((SequenceMatcher(None, x, y).ratio() for x, y in others), default=1.0)

    nearest = max((x for x in _PATHS if len(_PATHS[x]) == len(segments)), key=similarity, default=None)
    if nearest is None or similarity(nearest) < _SIMILAR:
        return ApiError("not_found", "No such path.")
    return ApiError("not_found", f"No such path; did you mean {nearest}?")


def failure_response(
    error: BaseException, request: Request, make_body: Callable[[ApiError, Request], bytes] = _envelope
) -> Response:
    """Return the error response for an exception, and record the error code for the log line.

    A temporary 503 has a ``Retry-After`` header. `make_body` returns the body, by default the error envelope of ``/v1``.
    """
    request.caching = Caching.NONE
    if isinstance(error, CallerLeft):
        request.code = _CALLER_LEFT
        return Response(_CALLER_LEFT_STATUS, b"", {})
    known = as_api_error(error, request)
    request.code = known.code
    sent = {**request.limit_headers, **known.headers, "cache-control": request.caching}
    if known.status == 503 and not ERROR_CODES[known.code].permanent:
        sent.setdefault("Retry-After", str(_RETRY_SECONDS))
    return Response(known.status, make_body(known, request), sent)


def as_api_error(error: BaseException, request: Request) -> ApiError:
    """Return the error that the caller gets; log any failure that is not the caller's fault."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, AlphaNotPublished):
        of_run = ENDPOINTS[request.endpoint or ""].allow_list is AllowListScope.RUNS
        code = "run_not_found" if of_run else "alpha_not_found"
        return ApiError(code, f"There is no alpha {request.path['alpha']}.")
    if isinstance(error, SnapshotNotKept):
        message = "This run has no such snapshot, or it was removed; `details.current` is the one now served."
        return ApiError("snapshot_not_found", message, {"current": error.current})
    if isinstance(error, StorageUnavailable | SnapshotError | PanicException):
        _log.error(
            "published_data_unavailable",
            request_id=request.id,
            endpoint=request.endpoint,
            kind=type(error).__name__,
            reason=str(error),
        )
        return _unavailable()
    if _is_short_of_descriptors(error):
        _log.error("file_descriptors_exhausted", request_id=request.id, endpoint=request.endpoint)
        return _unavailable()
    _log.error("unforeseen_failure", request_id=request.id, endpoint=request.endpoint, exc_info=error)
    return ApiError("internal_error", "The service failed; quote the request id to the operator.")


def _unavailable() -> ApiError:
    return ApiError("upstream_unavailable", "The results cannot be read at present; try again later.")


def _is_short_of_descriptors(error: BaseException) -> bool:
    """Whether a failure is due to too many open files in the process or on the machine, which is temporary."""
    return any(isinstance(x, OSError) and x.errno in {errno.EMFILE, errno.ENFILE} for x in causes(error))
