"""The endpoint registry: ids, paths, parameters, rows and the errors each may answer with."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from schemas import parameters as p
from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.field import Field, day, integer, text
from schemas.listing_parameters import LISTING_PARAMETERS
from schemas.metrics.families import FAMILIES
from schemas.metrics.payload import METRICS, METRICS_DOC
from schemas.objects.audit import AUDIT
from schemas.objects.description import DESCRIPTION
from schemas.objects.downloads import TABLE_DOWNLOAD, TABLE_FILE
from schemas.objects.envelope import SOURCE
from schemas.objects.exposures import EXPOSURES
from schemas.objects.history import CHANGE, KEPT_SNAPSHOT, SNAPSHOT_COMPARISON
from schemas.objects.keys import KEY, KEY_ID, KEY_USAGE, ME
from schemas.objects.luck import CATALOGUE_LUCK, LUCK
from schemas.objects.operations import ADMIN_ALPHA, HEALTH, READINESS, SOURCE_DOWNLOAD
from schemas.objects.regimes import REGIMES
from schemas.objects.research import CONTRIBUTION, CORRELATIONS, NEIGHBOUR, NEIGHBOURS_META
from schemas.objects.rows import ROW_FIELDS
from schemas.objects.summaries import BENCHMARK_SUMMARY, EQUITY_SUMMARY
from schemas.parameters import Parameter
from schemas.tables import TABLES
from schemas.units import Unit

_PAGE: Final = (p.LIMIT, p.OFFSET)
_WINDOW: Final = (p.FROM, p.TO)
_RUN: Final = "/v1/alphas/{alpha}"
_SOURCE_ALPHA_ID: Final = text("source_alpha_id", "The id the run had where it was researched.")
_BOOK: Final = text("book", "The book served.")


def _of_run(
    id_: str,
    path: str,
    summary: str,
    payload: Field,
    shape: Shape = Shape.COLLECTION,
    *,
    parameters: tuple[Parameter, ...] = (),
    page: tuple[Parameter, ...] = _PAGE,
    **rest: Any,
) -> Endpoint:
    """Declare an endpoint of one alpha's run, by the allow-list of runs, which answers from the snapshot that a caller names."""
    of_page = page if shape is Shape.COLLECTION else ()
    accepted = (p.ALPHA_PATH, *parameters, p.SNAPSHOT, *of_page)
    return Endpoint(
        id_, _RUN + path, summary, payload, shape, accepted, allow_list=AllowListScope.RUNS, **rest
    )


_ALL: Final = (
    Endpoint(
        "meta.health",
        "/v1/health",
        "Is the service up, and since which build.",
        HEALTH,
        Shape.BARE,
        public=True,
    ),
    Endpoint(
        "meta.me",
        "/v1/me",
        "Who the calling key is, what it may do and what it has used.",
        ME,
        Shape.OBJECT,
    ),
    Endpoint(
        "meta.keys",
        "/v1/me/keys",
        "The keys of the caller's account, newest first.",
        KEY,
        parameters=_PAGE,
        meta=(KEY_ID.called("key_id", "The calling key."),),
    ),
    Endpoint(
        "catalog.alphas.list",
        "/v1/alphas",
        "The alphas this key may read, latest started first.",
        ROW_FIELDS["alpha"],
        parameters=(p.SEARCH, p.COMPLETE_ONLY, *_PAGE),
    ),
    Endpoint(
        "catalog.alphas.get",
        _RUN,
        "The written description of one alpha.",
        DESCRIPTION,
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=("alpha_description_not_found",),
        allow_list=AllowListScope.ALPHAS,
    ),
    _of_run(
        "catalog.alphas.source.download",
        "/source/download",
        "A freshly signed, short-lived address of the run's source archive.",
        SOURCE_DOWNLOAD,
        Shape.OBJECT,
        errors=(
            "source_not_ready",
            "source_object_missing",
            "source_download_unavailable",
            "source_download_not_configured",
        ),
    ),
    _of_run(
        "catalog.alphas.tables.list",
        "/tables",
        "The published files this key may download: size, digest, span and columns of each; tables in the order of the "
        "dictionary, books in that of `/books`.",
        TABLE_FILE,
    ),
    _of_run(
        "catalog.alphas.tables.download",
        "/tables/{table}/download",
        "A freshly signed, short-lived address of the file of one table, as Parquet.",
        TABLE_DOWNLOAD,
        Shape.OBJECT,
        parameters=(p.TABLE_PATH, p.TABLE_BOOK),
        errors=("table_not_found",),
    ),
    _of_run(
        "signals.rebalances.list",
        "/rebalances",
        "The index of weekly rebalance dates.",
        ROW_FIELDS["rebalance"],
        parameters=_WINDOW,
        datasets=("rebalances",),
    ),
    _of_run(
        "signals.rebalances.get",
        "/rebalances/{date}",
        "The cross-section of one rebalance week.",
        ROW_FIELDS["decision"],
        parameters=(p.DATE_PATH, p.SYMBOL, p.DIRECTION, p.MIN_ABS_WEIGHT, p.WEIGHT_BOOK, p.SORT, p.ORDER),
        meta=(
            text(
                "book",
                "The book whose weights were filtered and sorted on.",
                vocabulary=p.WEIGHT_BOOK.choices,
            ),
            day("date", "The week served."),
            text(
                "week_status",
                TABLES["rebalances"]["week_status"].meaning
                + " Null only when the run holds no rebalances, and the page is empty.",
                nullable=True,
            ),
            integer("n_symbols", Unit.COUNT, "Rows of the full cross-section, before any filter."),
        ),
        errors=("rebalance_not_found",),
        datasets=("rebalances", "decisions"),
    ),
    _of_run(
        "signals.scores",
        "/scores",
        "The score panel: one row per name per week.",
        ROW_FIELDS["score"],
        parameters=(*_WINDOW, p.SYMBOL, p.FIELDS),
        full_payload=ROW_FIELDS["score_all"],
        meta=(text("fields", "The set of columns served.", vocabulary=p.FIELDS.choices),),
        datasets=("decisions",),
    ),
    _of_run(
        "portfolio.books",
        "/books",
        "The books the run wrote, with the span and size of each dataset.",
        ROW_FIELDS["book"],
        meta=(_SOURCE_ALPHA_ID,),
        datasets=("books",),
    ),
    *(
        _of_run(
            id_,
            f"/{table}",
            summary,
            ROW_FIELDS[row],
            parameters=(book, *_WINDOW, symbol),
            meta=(_SOURCE_ALPHA_ID, _BOOK),
            datasets=(table,),
        )
        for id_, table, row, summary, book, symbol in (
            (
                "portfolio.ledger",
                "portfolio",
                "portfolio",
                "The daily ledger of one book.",
                p.BOOK,
                p.NO_SYMBOL,
            ),
            (
                "portfolio.positions",
                "positions",
                "position",
                "The names one book held at each close.",
                p.BOOK,
                p.SYMBOL,
            ),
            (
                "portfolio.pnl",
                "pnl",
                "pnl",
                "The daily profit and loss of each name of one book.",
                p.BOOK,
                p.SYMBOL,
            ),
            ("portfolio.trades", "trades", "trade", "The fills of one book.", p.REQUIRED_BOOK, p.SYMBOL),
        )
    ),
    _of_run(
        "portfolio.equity_curve",
        "/equity-curve",
        "Equity, return and drawdown of one book, session by session.",
        ROW_FIELDS["equity"],
        parameters=(p.BOOK, *_WINDOW),
        page=(p.DAILY_LIMIT, p.OFFSET),
        meta=(_SOURCE_ALPHA_ID, _BOOK, EQUITY_SUMMARY),
        datasets=("portfolio",),
    ),
    _of_run(
        "performance.metrics",
        "/metrics",
        "Performance and signal-quality figures.",
        METRICS,
        Shape.OBJECT,
        parameters=(*_WINDOW, p.GRANULARITY, p.DOC, p.PANEL),
        meta=(_SOURCE_ALPHA_ID,),
        datasets=("sealed_metrics", "weekly_signal", "weekly_deciles", "portfolio", "rebalances"),
    ),
    _of_run(
        "performance.metrics.doc",
        "/metrics/_doc",
        "What every figure of the metrics means and how it is computed.",
        METRICS_DOC,
        Shape.OBJECT,
        shared=True,
    ),
    _of_run(
        "performance.audit",
        "/audit",
        "What was checked of a run and what came of it: notices, earlier seals, figures and rules, worst first.",
        AUDIT,
        Shape.OBJECT,
        meta=(_SOURCE_ALPHA_ID,),
    ),
    Endpoint(
        "benchmarks.daily",
        "/v1/benchmarks/{symbol}/daily",
        "A market index to compare an equity curve with.",
        ROW_FIELDS["benchmark"],
        parameters=(p.SYMBOL_PATH, *_WINDOW, p.DAILY_LIMIT, p.OFFSET),
        meta=(text("symbol", "The requested benchmark."), SOURCE, BENCHMARK_SUMMARY),
        errors=("benchmark_unavailable", "benchmark_not_configured"),
    ),
    Endpoint(
        "research.screen",
        "/v1/screen",
        "The alphas this key may read, sorted and chosen by their figures, tags and days.",
        ROW_FIELDS["screened_alpha"],
        parameters=(p.SEARCH, p.COMPLETE_ONLY, *_PAGE, *LISTING_PARAMETERS),
    ),
    Endpoint(
        "research.changes",
        "/v1/changes",
        "What was published, replaced, rolled back and withdrawn of the alphas this key may read, oldest first.",
        CHANGE,
        parameters=(p.SINCE, *_PAGE),
        meta=(text("next", "Hand it back as `since` to read on behind this page.", pattern=f"^{p.CURSOR}$"),),
        errors=("cursor_not_known",),
    ),
    Endpoint(
        "research.snapshots.list",
        _RUN + "/snapshots",
        "The snapshots of one alpha that are still there, newest first.",
        KEPT_SNAPSHOT,
        parameters=(p.ALPHA_PATH, *_PAGE),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.snapshots.compare",
        _RUN + "/snapshots/compare",
        "Which figures, weeks, names and tables changed from one snapshot of an alpha to another.",
        SNAPSHOT_COMPARISON,
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.FROM_SNAPSHOT, p.TO_SNAPSHOT),
        errors=("snapshot_not_found",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.benchmarks",
        "/v1/benchmarks",
        "The market indices that curves can be compared with; none where the deployment has no usable market data.",
        ROW_FIELDS["benchmark_listed"],
        parameters=_PAGE,
        errors=("benchmark_unavailable",),
    ),
    _of_run(
        "research.neighbours",
        "/neighbours",
        "The other alphas, the most alike first, or the least alike.",
        NEIGHBOUR,
        parameters=(p.BY, p.BOOK, *_WINDOW, p.NEAREST, p.AMONG),
        meta=NEIGHBOURS_META,
        errors=("neighbours_not_ready",),
        datasets=("portfolio", "decisions", "positions"),
    ),
    Endpoint(
        "research.correlations",
        "/v1/correlations",
        "How alike each two of some alphas are.",
        CORRELATIONS,
        Shape.OBJECT,
        parameters=(p.COMPARED, p.BY, p.BOOK, *_WINDOW),
        errors=("run_not_allowed", "run_not_found"),
    ),
    _of_run(
        "research.contribution",
        "/contribution",
        "What the alpha adds to a book of others.",
        CONTRIBUTION,
        Shape.OBJECT,
        parameters=(p.BOOK_OF, p.WEIGHTS, p.BOOK, *_WINDOW),
    ),
    _of_run(
        "research.luck",
        "/luck",
        "How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure.",
        LUCK,
        Shape.OBJECT,
        parameters=(p.BOOK, *_WINDOW, p.TRIALS, p.TRIAL_DEVIATION),
        meta=(_SOURCE_ALPHA_ID,),
        datasets=("portfolio", "weekly_signal"),
    ),
    *(
        _of_run(
            family.endpoint,
            f"/{family.name}",
            family.summary,
            family.payload,
            Shape.OBJECT,
            parameters=(p.BOOK,) if family.by_book else (),
            meta=(_SOURCE_ALPHA_ID,),
        )
        for family in FAMILIES.values()
    ),
    Endpoint(
        "research.luck.catalogue",
        "/v1/luck",
        "How many of the alphas this key may read count as discoveries, and how many independent ones they come to.",
        CATALOGUE_LUCK,
        Shape.OBJECT,
        errors=("neighbours_not_ready",),
    ),
    _of_run(
        "research.regimes",
        "/regimes",
        "A book in the halves of its record, in up and down markets, in calm and rough ones; and whether its record broke.",
        REGIMES,
        Shape.OBJECT,
        parameters=(p.BOOK, *_WINDOW, p.BENCHMARK),
        meta=(_SOURCE_ALPHA_ID,),
        errors=("benchmark_unavailable",),
        datasets=("portfolio", "weekly_signal"),
    ),
    _of_run(
        "research.exposures",
        "/exposures",
        "What of a book's returns benchmarks and factors explain: coefficients, what is left, the profit of each.",
        EXPOSURES,
        Shape.OBJECT,
        parameters=(p.BOOK, *_WINDOW, p.BENCHMARKS, p.ROLLING),
        meta=(_SOURCE_ALPHA_ID,),
        errors=("benchmark_unavailable",),
        datasets=("portfolio",),
    ),
    Endpoint(
        "admin.alphas.list",
        "/v1/admin/alphas",
        "Every alpha with its snapshot and what its run lacks.",
        ADMIN_ALPHA,
        parameters=_PAGE,
        admin=True,
    ),
    Endpoint(
        "admin.alphas.readiness",
        "/v1/admin/alphas/{alpha}/readiness",
        "Kind by kind, what one alpha's snapshot holds.",
        READINESS,
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=("alpha_not_found",),
        admin=True,
    ),
    Endpoint(
        "admin.keys.usage",
        "/v1/admin/keys/{key_id}/usage",
        "Owner, limits and use of one key.",
        KEY_USAGE,
        Shape.OBJECT,
        parameters=(p.KEY_PATH,),
        errors=("key_not_found",),
        admin=True,
    ),
)

ENDPOINTS: Final[dict[str, Endpoint]] = {entry.id: entry for entry in _ALL}
"""The registry by id, in the order of the documents."""

ADMIN_IDS: Final = tuple(entry.id for entry in _ALL if entry.admin)
META_IDS: Final = ("meta.health", "meta.keys", "meta.me")
"""What a key may call that was never granted anything."""

SERVED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "rebalances": ("signals.rebalances.list",),
    "decisions": ("signals.rebalances.get", "signals.scores"),
    "portfolio": ("portfolio.ledger",),
    "positions": ("portfolio.positions",),
    "pnl": ("portfolio.pnl",),
    "trades": ("portfolio.trades",),
    "trials": ("research.luck",),
    "books": ("portfolio.books",),
    "equity_curve": ("portfolio.equity_curve",),
    "weekly_signal": ("performance.metrics",),
    "weekly_deciles": ("performance.metrics",),
    "sealed_metrics": ("performance.metrics",),
}
"""Published table -> the endpoints that serve its rows, or figures of them: a key may have the table by any of these."""


def readable_tables(endpoint_ids: Collection[str]) -> frozenset[str]:
    """Return the published tables that a key may have, by the endpoints it may call."""
    return frozenset(table for table, ids in SERVED_BY.items() if any(name in endpoint_ids for name in ids))


def registry_version() -> str:
    """Short digest of the registry's ids and paths: it changes exactly when an endpoint or its group does."""
    text = "\n".join(f"{entry.id} {entry.path}" for entry in _ALL)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
