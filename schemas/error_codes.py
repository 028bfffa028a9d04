"""Error codes with HTTP status and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from schemas.limits import LIMIT_WINDOWS

_MEANINGS: Final[Mapping[int, Mapping[str, str]]] = {
    400: {
        "bad_request": "At least one parameter is invalid or unknown to the endpoint; `details.parameters` lists them all, with the "
        "rule that each breaks. The parameter `request` means that the request is not valid HTTP/1.1; the connection is then closed.",
        "unknown_book": "The key can read no such book of the alpha; `details.available` lists those it can read.",
    },
    401: {
        "missing_api_key": "The request carries no bearer key; send one in `Authorization`.",  # pragma: allowlist secret
        "malformed_api_key": "The bearer value does not have the form of a key; it was not looked up.",  # pragma: allowlist secret
        "invalid_api_key": "The key has the right form but was not issued by this service.",  # pragma: allowlist secret
        "key_suspended": "The key is suspended until an operator reactivates it.",
        "key_revoked": "The key was revoked permanently; issue another.",
        "key_expired": "The key has expired; issue another.",
    },
    403: {
        "account_inactive": "The account that owns the key is deactivated or deleted.",
        "ip_not_allowed": "The caller's address is not on the key's allow-list; `details.ip` is the address seen.",
        "endpoint_not_allowed": "The key may not call this endpoint; `details.endpoint` is its registry id.",
        "alpha_not_allowed": "The key may not read this alpha's description, whether or not it exists.",
        "run_not_allowed": "The key may not read this alpha's data, whether or not it exists.",
        "link_invalid": "The link to a file was altered, was not signed by this deployment, or its key is no longer valid; request a new "
        "one.",
        "link_expired": "The link to a file has expired; request a new one.",
    },
    404: {
        "not_found": "There is no such path; answered before any key is read.",
        "method_not_allowed": "The path answers only GET; answered before any key is read.",
        "alpha_not_found": "No alpha has this address (description endpoint).",
        "run_not_found": "No alpha has this address (every other endpoint of an alpha).",
        "snapshot_not_found": "The run has no such snapshot, or it was removed; `details.current` is the one now served.",
        "rebalance_not_found": "The date is not a rebalance date of the run; `details` has the first, last, previous and next ones.",
        "alpha_description_not_found": "The run sealed no written description; its data is still served.",
        "source_not_ready": "The source archive is not packaged yet, or packaging failed; `details.status` if recorded. Retry later.",
        "source_object_missing": "The archive was delivered but is missing from the store; retrying does not help.",
        "table_not_found": "The run has no such table or book, or the key may not read it; `details.available` lists the tables that it "
        "may.",
        "key_not_found": "No key has this id (administrative usage route).",
    },
    410: {
        "cursor_not_known": "The cursor comes from another service or format and cannot be continued; list the alphas, and start without "
        "`since`.",
    },
    414: {"uri_too_long": "The request's target is too long; request less at a time."},
    416: {
        "range_not_satisfiable": "The range starts after the end of the file; `Content-Range` has its size."
    },
    429: {
        **{window.code: window.refusal for window in LIMIT_WINDOWS},
        "link_bytes_exceeded": "The links of this key have sent the bytes that the deployment allows per hour; retry after `Retry-After`.",
    },
    431: {
        "request_header_fields_too_large": "The request's head is too long; send fewer or shorter headers.",
    },
    500: {"internal_error": "An unexpected failure; quote `request_id` to the operator."},
    503: {
        "upstream_unavailable": "A store that the answer needs is temporarily unavailable; retry with backoff.",
        "overloaded": "The service is overloaded and did not compute this answer, which still counts as a call. Retry after `Retry-After`, "
        "with fewer concurrent calls.",
        "neighbours_not_ready": "The returns of all alphas are being read for the first time, or their correlations computed; `details` has "
        "the progress. Retry after `Retry-After`, or name a few neighbours with `among`.",
        "benchmark_unavailable": "The market data are temporarily unavailable; only benchmark routes are affected.",
        "benchmark_not_configured": "This deployment has no market data; retrying does not help.",
        "source_download_unavailable": "The object store did not answer while signing; retry with backoff.",
        "source_download_not_configured": "This deployment has no store for archives, or may not sign for it; retrying does not help.",
    },
}
"""Status -> code -> when it is returned and what the caller can do."""
_PERMANENT: Final = frozenset({"benchmark_not_configured", "source_download_not_configured"})


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
    permanent: bool


ERROR_CODES: Final[dict[str, ErrorCode]] = {
    code: ErrorCode(code, status, meaning, code in _PERMANENT)
    for status, meanings in _MEANINGS.items()
    for code, meaning in meanings.items()
}
"""Code -> declaration."""

HEAD_ERRORS: Final = ("uri_too_long", "request_header_fields_too_large")
"""Codes of answers that precede routing, because the head of the request is too long."""

LINK_ERRORS: Final = ("link_invalid", "link_expired", "link_bytes_exceeded", "range_not_satisfiable")
"""Codes of answers to links to files, besides those of the endpoint that signed the link."""
