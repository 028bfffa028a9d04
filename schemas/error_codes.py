"""Error codes with HTTP status and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.limits import LIMIT_WINDOWS


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One error code.

    Attributes
    ----------
    code
        Value of ``error.code``.
    status
        Its HTTP status.
    meaning
        When it is returned and what the caller can do.
    permanent
        Whether a retry cannot succeed until the deployment changes: such a 503 has no ``Retry-After``.
    """

    code: str
    status: int
    meaning: str
    permanent: bool = False


_ALL: Final = (
    ErrorCode("uri_too_long", 414, "The request's target is too long; request less at a time."),
    ErrorCode(
        "request_header_fields_too_large",
        431,
        "The request's head is too long; send fewer or shorter headers.",
    ),
    ErrorCode("missing_api_key", 401, "The request carries no bearer key; send one in `Authorization`."),
    ErrorCode(
        "malformed_api_key", 401, "The bearer value does not have the form of a key; it was not looked up."
    ),
    ErrorCode("invalid_api_key", 401, "The key has the right form but was not issued by this service."),
    ErrorCode("key_suspended", 401, "The key is suspended until an operator reactivates it."),
    ErrorCode("key_revoked", 401, "The key was revoked permanently; issue another."),
    ErrorCode("key_expired", 401, "The key has expired; issue another."),
    ErrorCode("account_inactive", 403, "The account that owns the key is deactivated or deleted."),
    ErrorCode(
        "ip_not_allowed",
        403,
        "The caller's address is not on the key's allow-list; `details.ip` is the address seen.",
    ),
    ErrorCode(
        "endpoint_not_allowed",
        403,
        "The key may not call this endpoint; `details.endpoint` is its registry id.",
    ),
    ErrorCode(
        "alpha_not_allowed", 403, "The key may not read this alpha's description, whether or not it exists."
    ),
    ErrorCode("run_not_allowed", 403, "The key may not read this alpha's data, whether or not it exists."),
    ErrorCode(
        "bad_request",
        400,
        "At least one parameter is invalid or unknown to the endpoint; `details.parameters` lists them all, with the rule that each breaks. "
        "The parameter `request` means that the request is not valid HTTP/1.1; the connection is then closed.",
    ),
    ErrorCode(
        "unknown_book",
        400,
        "The key can read no such book of the alpha; `details.available` lists those it can read.",
    ),
    ErrorCode(
        "link_invalid",
        403,
        "The link to a file was altered, was not signed by this deployment, or its key is no longer valid; request a new one.",
    ),
    ErrorCode("link_expired", 403, "The link to a file has expired; request a new one."),
    ErrorCode(
        "link_bytes_exceeded",
        429,
        "The links of this key have sent the bytes that the deployment allows per hour; retry after `Retry-After`.",
    ),
    ErrorCode(
        "range_not_satisfiable",
        416,
        "The range starts after the end of the file; `Content-Range` has its size.",
    ),
    ErrorCode("alpha_not_found", 404, "No alpha has this address (description endpoint)."),
    ErrorCode("run_not_found", 404, "No alpha has this address (every other endpoint of an alpha)."),
    ErrorCode(
        "snapshot_not_found",
        404,
        "The run has no such snapshot, or it was removed; `details.current` is the one now served.",
    ),
    ErrorCode(
        "rebalance_not_found",
        404,
        "The date is not a rebalance date of the run; `details` has the first, last, previous and next ones.",
    ),
    ErrorCode(
        "alpha_description_not_found", 404, "The run sealed no written description; its data is still served."
    ),
    ErrorCode(
        "source_not_ready",
        404,
        "The source archive is not packaged yet, or packaging failed; `details.status` if recorded. Retry later.",
    ),
    ErrorCode(
        "source_object_missing",
        404,
        "The archive was delivered but is missing from the store; retrying does not help.",
    ),
    ErrorCode(
        "table_not_found",
        404,
        "The run has no such table or book, or the key may not read it; `details.available` lists the tables that it may.",
    ),
    ErrorCode(
        "cursor_not_known",
        410,
        "The cursor comes from another service or format and cannot be continued; list the alphas, and start without `since`.",
    ),
    ErrorCode("key_not_found", 404, "No key has this id (administrative usage route)."),
    ErrorCode("not_found", 404, "There is no such path; answered before any key is read."),
    ErrorCode("method_not_allowed", 404, "The path answers only GET; answered before any key is read."),
    *(ErrorCode(window.code, 429, window.refusal) for window in LIMIT_WINDOWS),
    ErrorCode("internal_error", 500, "An unexpected failure; quote `request_id` to the operator."),
    ErrorCode(
        "upstream_unavailable",
        503,
        "A store that the answer needs is temporarily unavailable; retry with backoff.",
    ),
    ErrorCode(
        "overloaded",
        503,
        "The service is overloaded and did not compute this answer, which still counts as a call. Retry after `Retry-After`, with fewer "
        "concurrent calls.",
    ),
    ErrorCode(
        "neighbours_not_ready",
        503,
        "The returns of all alphas are being read for the first time, or their correlations computed; `details` has the progress. Retry "
        "after `Retry-After`, or name a few neighbours with `among`.",
    ),
    ErrorCode(
        "benchmark_unavailable",
        503,
        "The market data are temporarily unavailable; only benchmark routes are affected.",
    ),
    ErrorCode(
        "benchmark_not_configured",
        503,
        "This deployment has no market data; retrying does not help.",
        permanent=True,
    ),
    ErrorCode(
        "source_download_unavailable",
        503,
        "The object store did not answer while signing; retry with backoff.",
    ),
    ErrorCode(
        "source_download_not_configured",
        503,
        "This deployment has no store for archives, or may not sign for it; retrying does not help.",
        permanent=True,
    ),
)

ERROR_CODES: Final[dict[str, ErrorCode]] = {entry.code: entry for entry in _ALL}
"""Code -> declaration, in the order in which a request is checked."""

CONNECTION_ERRORS: Final = (
    "uri_too_long",
    "request_header_fields_too_large",
)
"""Codes of answers to incomplete requests."""

LINK_ERRORS: Final = ("link_invalid", "link_expired", "link_bytes_exceeded", "range_not_satisfiable")
"""Codes of answers to links to files, beside those of the endpoint that signed the link."""
