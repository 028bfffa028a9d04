"""The envelope of every payload: pagination, warnings, and errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schemas.error_codes import ERROR_CODES
from schemas.field import Field, FieldType, array, count, day, flag, integer, record, series, text, texts
from schemas.kinds import KINDS
from schemas.limits import LIMIT_WINDOWS
from schemas.objects.operations import SOURCE_STATUSES
from schemas.parameters import MAX_OFFSET, MAX_PAGE
from schemas.units import Unit
from schemas.warning_codes import CODES

PAGINATION: Final = record(
    "pagination",
    "Position of the page among all rows of the query.",
    count("limit", "Page size applied.", minimum=1, maximum=MAX_PAGE),
    count("offset", "Rows skipped.", maximum=MAX_OFFSET),
    count("returned", "Rows in this page: the length of `data`.", maximum=MAX_PAGE),
    count("total", "Rows of the query on all pages."),
    flag("has_more", "Whether rows follow this page; stop paging when it is false."),
    model="Pagination",
)


def _entry(meaning: str, codes: Iterable[str], model: str) -> Field:
    return record(
        "",
        meaning,
        text("code", "What happened.", vocabulary=tuple(codes)),
        text("message", "Description of this case, for people."),
        text("kind", "Kind of data affected.", optional=True, vocabulary=KINDS),
        text("block", "Block of the metrics affected.", optional=True),
        model=model,
    )


WARNING: Final = _entry("Why part of the answer is missing or limited.", CODES["warnings"], "Warning")
NOTICE: Final = _entry("Additional information about the answer.", CODES["notices"], "Notice")
WARNINGS: Final = (
    array("warnings", "Only if part of the answer is missing or limited.", WARNING, optional=True, minimum=1),
    array("notices", "Only if there are any.", NOTICE, optional=True, minimum=1),
)

SOURCE: Final = text("source", "Where the data come from.")
REQUEST_ID: Final = text("request_id", "Id of the request, for the operator; also in `X-Request-Id`.")


def _details(*fields: Field, nullable: bool = False) -> Field:
    return record("details", "Details for programs.", *fields, nullable=nullable)


ERROR_DETAILS: Final[dict[str, Field]] = {
    "bad_request": _details(
        series(
            "parameters",
            "Every invalid parameter.",
            text("name", "The parameter."),
            text("constraint", "The rule it breaks."),
            text("nearest", "Most similar parameter of the endpoint, for an unknown one.", optional=True),
            one="One parameter.",
            minimum=1,
        ),
        texts("available", "Accepted names, for a parameter with few choices.", optional=True),
    ),
    "unknown_book": _details(texts("available", "Books that this key can read.")),
    "table_not_found": _details(texts("available", "Tables that this key may download.")),
    "neighbours_not_ready": _details(
        count("read", "Alphas whose returns were read."),
        count("alphas", "Alphas whose returns are to be read."),
    ),
    "ip_not_allowed": _details(text("ip", "The caller's address as the service sees it.")),
    "endpoint_not_allowed": _details(text("endpoint", "Registry id of the endpoint.")),
    "snapshot_not_found": _details(text("current", "Id of the snapshot now served.")),
    "rebalance_not_found": _details(
        day("first", "First rebalance date of the run."),
        day("last", "Last rebalance date of the run."),
        day("previous", "Last rebalance date before the requested one; null without one.", nullable=True),
        day("next", "First rebalance date after the requested one; null without one.", nullable=True),
    ),
    **{
        window.code: _details(
            text("window", "The window that is used up.", vocabulary=(window.name,)),
            integer("limit", Unit.CALLS, "Calls the key may make in it."),
        )
        for window in LIMIT_WINDOWS
    },
    "source_not_ready": _details(
        text("status", "Recorded state of the archive.", vocabulary=SOURCE_STATUSES), nullable=True
    ),
}
"""Error code -> its `details`; null for all other codes."""

NO_DETAILS: Final = Field("details", FieldType.NULL, "There are no details.")


def error_object(code: str) -> Field:
    """Return the `error` object of a code, the only member of the body."""
    meaning = ERROR_CODES[code].meaning
    return record(
        "error",
        meaning,
        text("code", "Error code.", vocabulary=(code,)),
        text("message", "One sentence for people; programs read `code` and `details`."),
        ERROR_DETAILS.get(code, NO_DETAILS),
        REQUEST_ID,
        model=f"Error_{code}",
    )
