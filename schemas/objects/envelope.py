"""What stands around every payload: the page, the warnings, and the envelope of failures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schemas.error_codes import ERROR_CODES
from schemas.field import Field, FieldType, array, day, flag, integer, record, text, texts
from schemas.kinds import KINDS
from schemas.limits import LIMIT_WINDOWS
from schemas.objects.operations import SOURCE_STATUSES
from schemas.parameters import MAX_OFFSET, MAX_PAGE
from schemas.units import Unit
from schemas.warning_codes import CODES

PAGINATION: Final = record(
    "pagination",
    "Where this page stands among all rows of the query.",
    integer(
        "limit", Unit.COUNT, "Largest number of rows in a page, as applied.", minimum=1, maximum=MAX_PAGE
    ),
    integer("offset", Unit.COUNT, "Rows skipped, as applied.", maximum=MAX_OFFSET),
    integer("returned", Unit.COUNT, "Rows in this page: the length of `data`.", maximum=MAX_PAGE),
    integer("total", Unit.COUNT, "Rows of the query over all pages."),
    flag("has_more", "Whether rows follow this page; stop paging when it is false."),
    model="Pagination",
)


def _entry(meaning: str, codes: Iterable[str], model: str) -> Field:
    return record(
        "",
        meaning,
        text("code", "What happened.", vocabulary=tuple(codes)),
        text("message", "What happened in this case, for people."),
        text("kind", "The kind of data concerned.", optional=True, vocabulary=KINDS),
        text("block", "The block of the metrics concerned.", optional=True),
        model=model,
    )


WARNING: Final = _entry("Why part of an answer is missing or limited.", CODES["warnings"], "Warning")
NOTICE: Final = _entry("What a reader of the answer should know besides.", CODES["notices"], "Notice")
WARNINGS: Final = (
    array(
        "warnings", "Present only when something is missing or limited.", WARNING, optional=True, minimum=1
    ),
    array("notices", "Present only when there is such a thing to know.", NOTICE, optional=True, minimum=1),
)

SOURCE: Final = text("source", "Where the content was read.")
REQUEST_ID: Final = text("request_id", "Names the request: quote it to the operator. Also in `X-Request-Id`.")

_AVAILABLE: Final = texts("available", "The names that would be accepted.")


def _details(*fields: Field, nullable: bool = False) -> Field:
    return record("details", "What a program can act on.", *fields, nullable=nullable)


ERROR_DETAILS: Final[dict[str, Field]] = {
    "bad_request": _details(
        array(
            "parameters",
            "Every parameter that breaks its rule.",
            record(
                "",
                "One of them.",
                text("name", "The parameter."),
                text("constraint", "The rule it breaks."),
                text(
                    "nearest", "The parameter most like one that the endpoint does not take.", optional=True
                ),
            ),
            minimum=1,
        ),
        _AVAILABLE.called(
            "available",
            "The names that would be accepted, where the parameter chooses among few.",
            optional=True,
        ),
    ),
    "unknown_book": _details(_AVAILABLE.called("available", "The books this key can read of this alpha.")),
    "table_not_found": _details(
        _AVAILABLE.called("available", "The tables this key may download of this alpha.")
    ),
    "neighbours_not_ready": _details(
        integer("read", Unit.COUNT, "Alphas whose returns were read."),
        integer("alphas", Unit.COUNT, "Alphas whose returns are to be read."),
    ),
    "ip_not_allowed": _details(text("ip", "The caller's address as the service sees it.")),
    "endpoint_not_allowed": _details(text("endpoint", "Registry id of the endpoint.")),
    "snapshot_not_found": _details(text("current", "Id of the snapshot that is served now.")),
    "rebalance_not_found": _details(
        day("first", "First rebalance date of the run."),
        day("last", "Last rebalance date of the run."),
        day(
            "previous",
            "Last rebalance date before the requested one; null when there is none.",
            nullable=True,
        ),
        day("next", "First rebalance date after the requested one; null when there is none.", nullable=True),
    ),
    **{
        window.code: _details(
            text("window", "The window that is used up.", vocabulary=(window.name,)),
            integer("limit", Unit.CALLS, "Calls the key may make in it."),
        )
        for window in LIMIT_WINDOWS
    },
    "source_not_ready": _details(
        text("status", "The state recorded of the archive.", vocabulary=SOURCE_STATUSES), nullable=True
    ),
}
"""Error code -> its `details`. Every other code has null there."""

NO_DETAILS: Final = Field("details", FieldType.NULL, "There are no details.")


def error_object(code: str) -> Field:
    """Return the `error` object of a failure with that code, the only member of its body."""
    meaning = ERROR_CODES[code].meaning
    return record(
        "error",
        meaning,
        text("code", "Which failure it is.", vocabulary=(code,)),
        text("message", "One sentence for people; programs read `code` and `details`."),
        ERROR_DETAILS.get(code, NO_DETAILS),
        REQUEST_ID,
        model=f"Error_{code}",
    )
