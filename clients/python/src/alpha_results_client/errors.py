"""The exceptions of this package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alpha_results_client.declared import PERMANENT_ERRORS

NO_SUCH_ALPHA = frozenset({"alpha_not_found", "run_not_found"})
"""Error codes for an unknown alpha."""


class AlphaResultsClientError(Exception):
    """Base of all exceptions."""


class NoAnswer(AlphaResultsClientError):
    """The service could not be reached, or the connection broke, in every attempt."""


class UnexpectedAnswer(AlphaResultsClientError):
    """The response does not come from this API; another service or a proxy may have sent it."""


@dataclass(eq=False, repr=False)
class ApiError(AlphaResultsClientError):
    """The service refused or failed.

    Attributes
    ----------
    code
        Code of the failure, such as ``unknown_book``.
    message
        One sentence for people.
    details
        Details for programs; None if there are none.
    request_id
        Id of the request, to quote to the operator.
    status
        The HTTP status.
    retry_after
        Seconds after which another attempt makes sense; None if the service did not say.
    suggestions
        Names similar to an unknown one: alphas, or values that the service lists.
    """

    code: str
    message: str
    details: Mapping[str, Any] | None = None
    request_id: str | None = None
    status: int = 0
    retry_after: float | None = None
    suggestions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Pass the facts on, so that the exception can be pickled however it was made."""
        super().__init__(
            self.code, self.message, self.details, self.request_id, self.status, self.retry_after
        )

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        if self.details:
            text += f" {dict(self.details)}"
        if self.suggestions:
            text += f" Did you mean {' or '.join(map(repr, self.suggestions))}?"
        return text + (f" (request {self.request_id})" if self.request_id else "")

    @property
    def may_pass(self) -> bool:
        """Whether the same call may succeed later without a change."""
        return self.status in {429, 502, 503, 504} and self.code not in PERMANENT_ERRORS


class InvalidRequest(ApiError):
    """400: a parameter is invalid, or names a missing book; `details` names it."""


class NotAuthenticated(ApiError):
    """401: the key is not valid."""


class NotAllowed(ApiError):
    """403: the key may not do this."""


class NotFound(ApiError):
    """404: no resource has this address."""


class SnapshotNotFound(NotFound):
    """404: the pinned snapshot was removed; ``details["current"]`` is the served one."""


class RateLimited(ApiError):
    """429: the key has reached a limit, and the wait is longer than the client may wait."""


class ServiceFailed(ApiError):
    """500: an internal error of the service."""


class Unavailable(ApiError):
    """503: a component of the service is unavailable or not configured."""


class ResultsWarning(UserWarning):
    """Part of an answer is missing or limited; the message names the part and the reason."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    429: RateLimited,
    500: ServiceFailed,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_class(code: str, status: int) -> type[ApiError]:
    """Return the class of a failure; ApiError for an unknown status."""
    if code == "snapshot_not_found":
        return SnapshotNotFound
    return _BY_STATUS.get(status, ApiError)
