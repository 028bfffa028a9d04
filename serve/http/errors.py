"""Failures as HTTP responses: the error envelope, and which error the caller gets for an exception."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Final

import orjson
import structlog
from polars.exceptions import PanicException

from schemas.error_codes import ERROR_CODES
from schemas.errors import ApiError, SnapshotError, StorageUnavailable
from serve.compute import CallerLeft
from serve.http.request import Request
from serve.http.responses import Response

_log = structlog.get_logger("serve.http.errors")

_CALLER_LEFT: Final = "caller_left"
"""Stands in the log for the code of a request whose caller hung up; its status, never sent, is the next line's."""
_CALLER_LEFT_STATUS: Final = 499
_RETRY_SECONDS: Final = 2
"""``Retry-After`` of a failure of unknown length."""


def failure_response(error: BaseException, request: Request) -> Response:
    """Turn an exception into the response of its request, and note the error code for the log line."""
    if isinstance(error, CallerLeft):
        request.code = _CALLER_LEFT
        return Response(_CALLER_LEFT_STATUS, b"", {})
    known = as_api_error(error, request)
    request.code = known.code
    return error_response(known, request.id, request.limit_headers)


def error_response(error: ApiError, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """Turn an error into its response; a 503 that may pass says when to come back."""
    envelope = {
        "code": error.code,
        "message": error.message,
        "details": error.details,
        "request_id": request_id,
    }
    sent = {**(headers or {}), **error.headers, "cache-control": "no-store"}
    if error.status == 503 and not ERROR_CODES[error.code].permanent:
        sent.setdefault("Retry-After", str(_RETRY_SECONDS))
    return Response(error.status, orjson.dumps({"error": envelope}), sent)


def as_api_error(error: BaseException, request: Request) -> ApiError:
    """Return the error a caller gets; whatever is not the caller's doing is logged."""
    if isinstance(error, ApiError):
        return error
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
    return ApiError("internal_error", "Something failed here; quote the request id to the operator.")


def _unavailable() -> ApiError:
    return ApiError("upstream_unavailable", "The results cannot be read for now; try again later.")


def _is_short_of_descriptors(error: BaseException | None) -> bool:
    """Whether a failure is due to too many open files, of the process or the machine, which passes by itself."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            return True
        error = error.__cause__ or error.__context__
    return False
