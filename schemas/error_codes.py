"""The codes an error envelope may carry, with their HTTP status and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.limits import LIMIT_WINDOWS


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One entry of the vocabulary.

    Attributes
    ----------
    code
        What ``error.code`` holds.
    status
        The HTTP status it always comes with.
    meaning
        When it is returned and what a caller can do, for the OpenAPI document and the docs.
    permanent
        Whether the same call comes to the same for as long as the deployment is as it is: such a 503 carries no
        ``Retry-After``.
    """

    code: str
    status: int
    meaning: str
    permanent: bool = False


_ALL: Final = (
    ErrorCode("uri_too_long", 414, "The request's target is too long; ask for less in one request."),
    ErrorCode(
        "request_header_fields_too_large",
        431,
        "The request's head is too long; send fewer or shorter headers.",
    ),
    ErrorCode("missing_api_key", 401, "The request carries no bearer key; send one in `Authorization`."),
    ErrorCode(
        "malformed_api_key", 401, "The bearer value does not have the shape of a key; it was not looked up."
    ),
    ErrorCode("invalid_api_key", 401, "The key has the right shape but is not one this service issued."),
    ErrorCode("key_suspended", 401, "The key is suspended until an operator reactivates it."),
    ErrorCode("key_revoked", 401, "The key was revoked for good; issue another."),
    ErrorCode("key_expired", 401, "The key's expiry has passed; issue another."),
    ErrorCode("account_inactive", 403, "The account that owns the key is deactivated or deleted."),
    ErrorCode(
        "ip_not_allowed",
        403,
        "The caller's address is outside the key's allow-list; `details.ip` is what was seen.",
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
        "At least one parameter is invalid, or is not one this endpoint takes; `details.parameters` lists all with their "
        "constraint. The one `request` says that what was sent is not HTTP/1.1; the connection is then closed.",
    ),
    ErrorCode(
        "unknown_book", 400, "No such book among those this key can read; `details.available` lists them."
    ),
    ErrorCode(
        "link_invalid",
        403,
        "The link of a file was altered, was not signed by this deployment, or its key is not one any more; ask for another.",
    ),
    ErrorCode("link_expired", 403, "The link of a file has expired; ask for another."),
    ErrorCode(
        "link_bytes_exceeded",
        429,
        "The links of this key sent as many bytes within an hour as the deployment allows; `Retry-After` tells when they "
        "answer again.",
    ),
    ErrorCode(
        "range_not_satisfiable",
        416,
        "The range begins after the end of the file; `Content-Range` tells its size.",
    ),
    ErrorCode("alpha_not_found", 404, "No alpha has this address (description endpoint)."),
    ErrorCode("run_not_found", 404, "No alpha has this address (every other endpoint of an alpha)."),
    ErrorCode(
        "snapshot_not_found",
        404,
        "The run has no such snapshot, or it was removed; `details.current` is the one served now.",
    ),
    ErrorCode(
        "rebalance_not_found",
        404,
        "The date is not a rebalance date of the run; `details` names the first, last, previous and next ones.",
    ),
    ErrorCode(
        "alpha_description_not_found", 404, "The run sealed no written description; its data is still served."
    ),
    ErrorCode(
        "source_not_ready",
        404,
        "The source archive is not packaged, or packaging failed; `details.status` when recorded. Try again later.",
    ),
    ErrorCode(
        "source_object_missing",
        404,
        "The archive was delivered but is gone from the store; trying again will not help.",
    ),
    ErrorCode(
        "table_not_found",
        404,
        "The run has no such table, or no such book of it, or the key may not read it; `details.available` lists the "
        "tables it may.",
    ),
    ErrorCode(
        "cursor_not_known",
        410,
        "The cursor is of another service or another format, and cannot be continued; list the alphas, and begin without "
        "`since`.",
    ),
    ErrorCode("key_not_found", 404, "No key has this id (administrative usage route)."),
    ErrorCode("not_found", 404, "No such path; answered before any key is read."),
    ErrorCode(
        "method_not_allowed", 404, "The path exists but answers GET only; answered before any key is read."
    ),
    *(ErrorCode(window.code, 429, window.refusal) for window in LIMIT_WINDOWS),
    ErrorCode("internal_error", 500, "An unforeseen failure; quote `request_id` to the operator."),
    ErrorCode("upstream_unavailable", 503, "Something the answer needs is away for now; retry with backoff."),
    ErrorCode(
        "overloaded",
        503,
        "The service has more calls than it can compute, and did not compute this one; it counts as a call. Retry after `Retry-After`, "
        "with fewer calls at a time.",
    ),
    ErrorCode(
        "neighbours_not_ready",
        503,
        "The returns of all alphas are being read for the first time, or their correlations computed; `details` says how many were "
        "read. Come back after `Retry-After`, or name a few neighbours with `among`.",
    ),
    ErrorCode(
        "benchmark_unavailable", 503, "The market data is away for now; only benchmark routes are affected."
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
        "This deployment has no place for archives, or may not sign for it; retrying does not help.",
        permanent=True,
    ),
)

ERROR_CODES: Final[dict[str, ErrorCode]] = {entry.code: entry for entry in _ALL}
"""The vocabulary by code, in the order a request meets them."""

CONNECTION_ERRORS: Final = (
    "uri_too_long",
    "request_header_fields_too_large",
)
"""Codes of answers to connections that sent no complete request."""

LINK_ERRORS: Final = ("link_invalid", "link_expired", "link_bytes_exceeded", "range_not_satisfiable")
"""Codes of answers to links of files, beside those of the endpoint that signed the link."""
