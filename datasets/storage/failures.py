"""Classify exceptions of remote-store clients, which have no common base class."""

from __future__ import annotations

from typing import Final

from schemas.errors import causes

_REFUSALS: Final = frozenset({"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"})
_LISTING: Final = "ListObjectsV2"
_CLIENTS: Final = frozenset({"botocore", "aiobotocore", "aiohttp", "urllib3"})


def is_store_failure(error: BaseException) -> bool:
    """Whether an exception comes from a store's client; client exceptions do not derive from OSError."""
    return isinstance(error, OSError) or type(error).__module__.split(".")[0] in _CLIENTS


def is_refusal(error: BaseException | None) -> bool:
    """Whether the request failed for lack of permission or credentials, so that a retry is pointless."""
    return any(
        isinstance(link, PermissionError) or type(link).__name__ in _REFUSALS for link in causes(error)
    )


def names_missing_bucket(error: BaseException | None) -> bool:
    """Whether "not found" means the bucket rather than an object; a listing also fails this way on servers that are not stores."""
    return any(
        _code(link) == "NoSuchBucket"
        or (_code(link) == "404" and getattr(link, "operation_name", None) == _LISTING)
        for link in causes(error)
    )


def reason(error: BaseException | None) -> str | None:
    """Return why a request failed, without addresses, which may contain passwords; None if the client gives no reason."""
    for link in reversed(causes(error)):
        if isinstance(link, OSError) and link.strerror:
            return link.strerror
    return error_code(error)


def error_code(error: BaseException | None) -> str | None:
    """Return the store's error code; None if it gave none."""
    return next((code for link in causes(error) if (code := _code(link)) is not None), None)


def _code(error: BaseException) -> str | None:
    response = getattr(error, "response", None)
    return response.get("Error", {}).get("Code") if isinstance(response, dict) else None
