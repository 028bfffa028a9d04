"""``meta`` of each endpoint."""

from __future__ import annotations

from typing import Final

from schemas import parameters
from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.field import Field, day, instant, record, text, whole
from schemas.metrics.families import FAMILIES
from schemas.objects.envelope import REQUEST_ID, WARNINGS
from schemas.objects.keys import KEY_ID
from schemas.objects.research import NEIGHBOURS_META
from schemas.objects.summaries import BENCHMARK_SUMMARY, EQUITY_SUMMARY
from schemas.parameters import FIELDS, WEIGHT_BOOK
from schemas.tables import TABLES
from schemas.units import Unit

_RUN: Final = text("run", "The alpha that served the answer; keep it to reproduce a result.")
_ALPHA_ID: Final = text(
    "alpha_id", "Informational label of the source. Address endpoints with `run` or with the path's alpha."
)
_SOURCE_ALPHA_ID: Final = text("source_alpha_id", "The id the run had where it was researched.")
SNAPSHOT: Final = text(
    "snapshot",
    "Id of the snapshot that answered; `snapshot=` with it has later calls answered from the same one.",
)
PUBLISHED_AT: Final = instant("published_at", "When that snapshot became the served one for the first time.")
SEALED_BY: Final = text(
    "sealed_by",
    "The team whose key signed the seal behind it; only present where the deployment lets no other seal in.",
    optional=True,
)
_BOOK: Final = text("book", "The book served.")
_SOURCE: Final = text("source", "Where the content was read.")
_SINGLE: Final = (REQUEST_ID, instant("generated_at", "When the answer was made."), _SOURCE)

_OWN: Final[dict[str, tuple[Field, ...]]] = {
    "meta.keys": (KEY_ID.called("key_id", "The calling key."),),
    "signals.rebalances.get": (
        text(
            "book",
            "The book whose weights were filtered and sorted on.",
            vocabulary=tuple(x for x, _ in WEIGHT_BOOK.choices),
        ),
        day("date", "The week served."),
        text(
            "week_status",
            TABLES["rebalances"]["week_status"].meaning
            + " Null only when the run holds no rebalances, and the page is empty.",
            nullable=True,
        ),
        whole("n_symbols", Unit.COUNT, "Rows of the whole cross-section, before any filter."),
    ),
    "signals.scores": (
        text("fields", "The set of columns served.", vocabulary=tuple(x for x, _ in FIELDS.choices)),
    ),
    "portfolio.books": (_SOURCE_ALPHA_ID,),
    "portfolio.ledger": (_SOURCE_ALPHA_ID, _BOOK),
    "portfolio.positions": (_SOURCE_ALPHA_ID, _BOOK),
    "portfolio.pnl": (_SOURCE_ALPHA_ID, _BOOK),
    "portfolio.trades": (_SOURCE_ALPHA_ID, _BOOK),
    "portfolio.equity_curve": (_SOURCE_ALPHA_ID, _BOOK, EQUITY_SUMMARY),
    "performance.metrics": (_SOURCE_ALPHA_ID,),
    "performance.audit": (_SOURCE_ALPHA_ID,),
    "research.luck": (_SOURCE_ALPHA_ID,),
    "research.exposures": (_SOURCE_ALPHA_ID,),
    "research.regimes": (_SOURCE_ALPHA_ID,),
    **{family.endpoint: (_SOURCE_ALPHA_ID,) for family in FAMILIES.values()},
    "research.neighbours": NEIGHBOURS_META,
    "research.changes": (
        text(
            "next", "Hand it back as `since` to read on behind this page.", pattern=f"^{parameters.CURSOR}$"
        ),
    ),
    "benchmarks.daily": (text("symbol", "The benchmark asked for."), _SOURCE, BENCHMARK_SUMMARY),
}
"""Members beside those that follow from the endpoint's sort."""


def make_meta(endpoint: Endpoint) -> Field:
    """Return the `meta` object of an endpoint's answer.

    Every answer about one run names it and its snapshot; every single object carries the request id, the time and the source;
    whatever reads a run's datasets may carry warnings and notices. What is the same for every call says where it was read, no more.
    """
    if endpoint.shared:
        return record("meta", "About the answer rather than in it.", _SOURCE)
    members: list[Field] = []
    if endpoint.allow_list is not AllowListScope.NONE:
        members += [_RUN, _ALPHA_ID]
    if parameters.SNAPSHOT in endpoint.parameters:
        members += [SNAPSHOT, PUBLISHED_AT, SEALED_BY]
    members += _OWN.get(endpoint.id, ())
    if endpoint.shape is Shape.OBJECT:
        members += _SINGLE
    if endpoint.datasets:
        members += WARNINGS
    return record("meta", "About the answer rather than in it.", *members)


META: Final[dict[str, Field]] = {
    entry.id: make_meta(entry) for entry in ENDPOINTS.values() if entry.shape is not Shape.BARE
}
"""Registry id -> `meta`; an endpoint without envelope has none."""
