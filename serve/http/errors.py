"""What a failure is to the caller."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import structlog
from polars.exceptions import PanicException

from schemas.errors import ApiError, SnapshotError, StorageUnavailable

if TYPE_CHECKING:
    from serve.http.request import Request

_log = structlog.get_logger("serve.http.errors")


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
    """Whether a failure comes of too many open files, here or on the whole machine: it passes by itself."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            return True
        error = error.__cause__ or error.__context__
    return False
