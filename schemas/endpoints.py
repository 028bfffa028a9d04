"""The endpoint registry: ids, paths, parameters, payloads and errors."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Final

from schemas import parameters as p
from schemas.endpoint import AllowListScope, Caching, Endpoint, Shape
from schemas.field import Field, count, day, text
from schemas.listing_parameters import LISTING_PARAMETERS
from schemas.metrics.families import FAMILIES
from schemas.metrics.payload import METRICS, METRICS_DOC
from schemas.objects.alphas import ALPHA, SCREENED_ALPHA
from schemas.objects.audit import AUDIT
from schemas.objects.benchmarks import BENCHMARK, BENCHMARK_LISTED
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

_PAGE: Final = (p.LIMIT, p.OFFSET)
_WINDOW: Final = (p.FROM, p.TO)
_RUN: Final = "/v1/alphas/{alpha}"
_SOURCE_ALPHA_ID: Final = text("source_alpha_id", "Id of the run in research.")
_BOOK: Final = text("book", "The book served.")


def _run_endpoint(
    id_: str,
    path: str,
    summary: str,
    payload: Field,
    shape: Shape = Shape.COLLECTION,
    *,
    parameters: tuple[Parameter, ...] = (),
    page: tuple[Parameter, ...] = _PAGE,
    pinned: tuple[Parameter, ...] = (p.SNAPSHOT,),
    **rest: Any,
) -> Endpoint:
    """Declare an endpoint of one alpha's run: allow-list of runs, optional `snapshot`, and paging for collections."""
    of_page = page if shape is Shape.COLLECTION else ()
    accepted = (p.ALPHA_PATH, *parameters, *pinned, *of_page)
    return Endpoint(
        id_, _RUN + path, summary, payload, shape, accepted, allow_list=AllowListScope.RUNS, **rest
    )


def _book_endpoint(
    id_: str, table: str, row: str, summary: str, *, book: Parameter = p.BOOK, symbol: Parameter = p.SYMBOL
) -> Endpoint:
    """Declare the endpoint of a table that is stored by book."""
    return _run_endpoint(
        f"portfolio.{id_}",
        f"/{table}",
        summary,
        ROW_FIELDS[row],
        parameters=(book, *_WINDOW, symbol),
        meta=(_SOURCE_ALPHA_ID, _BOOK),
        datasets=(table,),
    )


_ALL: Final = (
    Endpoint(
        "meta.health",
        "/v1/health",
        "Health and build of the service.",
        HEALTH,
        Shape.BARE,
        public=True,
        caching=Caching.NONE,
    ),
    Endpoint("meta.me", "/v1/me", "Identity, permissions and usage of the calling key.", ME, Shape.OBJECT),
    Endpoint(
        "meta.keys",
        "/v1/me/keys",
        "Keys of the caller's account, newest first.",
        KEY,
        parameters=_PAGE,
        meta=(replace(KEY_ID, meaning="The calling key."),),
    ),
    Endpoint(
        "catalog.alphas.list",
        "/v1/alphas",
        "Alphas that the key may read, latest started first.",
        ALPHA,
        parameters=(p.SEARCH, p.COMPLETE_ONLY, *_PAGE),
    ),
    Endpoint(
        "catalog.alphas.get",
        _RUN,
        "Written description of one alpha.",
        DESCRIPTION,
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=("alpha_description_not_found",),
        allow_list=AllowListScope.ALPHAS,
    ),
    _run_endpoint(
        "catalog.alphas.source.download",
        "/source/download",
        "Freshly signed, short-lived URL of the run's source archive.",
        SOURCE_DOWNLOAD,
        Shape.OBJECT,
        caching=Caching.NONE,
        errors=(
            "source_not_ready",
            "source_object_missing",
            "source_download_unavailable",
            "source_download_not_configured",
        ),
    ),
    _run_endpoint(
        "catalog.alphas.tables.list",
        "/tables",
        "Published files that the key may download, with size, digest, span and columns; in the order of the data dictionary and of "
        "`/books`.",
        TABLE_FILE,
    ),
    _run_endpoint(
        "catalog.alphas.tables.download",
        "/tables/{table}/download",
        "Freshly signed, short-lived URL of one table as a Parquet file.",
        TABLE_DOWNLOAD,
        Shape.OBJECT,
        parameters=(p.TABLE_PATH, p.TABLE_BOOK),
        caching=Caching.NONE,
        errors=("table_not_found",),
    ),
    _run_endpoint(
        "signals.rebalances.list",
        "/rebalances",
        "Index of weekly rebalance dates.",
        ROW_FIELDS["rebalance"],
        parameters=_WINDOW,
        datasets=("rebalances",),
    ),
    _run_endpoint(
        "signals.rebalances.get",
        "/rebalances/{date}",
        "Cross-section of one rebalance week.",
        ROW_FIELDS["decision"],
        parameters=(p.DATE_PATH, p.SYMBOL, p.DIRECTION, p.MIN_ABS_WEIGHT, p.WEIGHT_BOOK, p.SORT, p.ORDER),
        meta=(
            text("book", "Book whose weights filter and sort.", vocabulary=p.WEIGHT_BOOK.choices),
            day("date", "The week served."),
            text(
                "week_status",
                f"{TABLES['rebalances']['week_status'].meaning} Null only if the run has no rebalances, so that the page is empty.",
                nullable=True,
            ),
            count("n_symbols", "Rows of the full cross-section, before filtering."),
        ),
        errors=("rebalance_not_found",),
        datasets=("rebalances", "decisions"),
    ),
    _run_endpoint(
        "signals.scores",
        "/scores",
        "Score panel: one row per name per week.",
        ROW_FIELDS["score"],
        parameters=(*_WINDOW, p.SYMBOL, p.FIELDS),
        full_payload=ROW_FIELDS["score_all"],
        meta=(text("fields", "Set of columns served.", vocabulary=p.FIELDS.choices),),
        datasets=("decisions",),
    ),
    _run_endpoint(
        "portfolio.books",
        "/books",
        "Books of the run, with the span and size of each dataset.",
        ROW_FIELDS["book"],
        meta=(_SOURCE_ALPHA_ID,),
        datasets=("books",),
    ),
    _book_endpoint("ledger", "portfolio", "portfolio", "Daily ledger of one book.", symbol=p.NO_SYMBOL),
    _book_endpoint("positions", "positions", "position", "Names that one book held at each close."),
    _book_endpoint("pnl", "pnl", "pnl", "Daily profit and loss of each name of one book."),
    _book_endpoint("trades", "trades", "trade", "Fills of one book.", book=p.REQUIRED_BOOK),
    _run_endpoint(
        "portfolio.equity_curve",
        "/equity-curve",
        "Equity, return and drawdown of one book, session by session.",
        ROW_FIELDS["equity"],
        parameters=(p.BOOK, *_WINDOW),
        page=(p.DAILY_LIMIT, p.OFFSET),
        meta=(_SOURCE_ALPHA_ID, _BOOK, EQUITY_SUMMARY),
        datasets=("portfolio",),
    ),
    _run_endpoint(
        "performance.metrics",
        "/metrics",
        "Performance and signal-quality figures.",
        METRICS,
        Shape.OBJECT,
        parameters=(*_WINDOW, p.GRANULARITY, p.DOC, p.PANEL),
        meta=(_SOURCE_ALPHA_ID,),
        datasets=("sealed_metrics", "weekly_signal", "weekly_deciles", "portfolio", "rebalances"),
    ),
    _run_endpoint(
        "performance.metrics.doc",
        "/metrics/_doc",
        "Definition of every figure of the metrics.",
        METRICS_DOC,
        Shape.OBJECT,
        caching=Caching.SHARED,
    ),
    _run_endpoint(
        "performance.audit",
        "/audit",
        "Checks of a run and their outcomes: notices, earlier seals, figures and rules, worst first.",
        AUDIT,
        Shape.OBJECT,
        meta=(_SOURCE_ALPHA_ID,),
    ),
    Endpoint(
        "benchmarks.daily",
        "/v1/benchmarks/{symbol}/daily",
        "Daily series of a market index, to compare an equity curve with.",
        BENCHMARK,
        parameters=(p.SYMBOL_PATH, *_WINDOW, p.DAILY_LIMIT, p.OFFSET),
        meta=(text("symbol", "The requested benchmark."), SOURCE, BENCHMARK_SUMMARY),
        errors=("benchmark_unavailable", "benchmark_not_configured"),
    ),
    Endpoint(
        "research.screen",
        "/v1/screen",
        "Alphas that the key may read, sorted and filtered by figures, tags and days.",
        SCREENED_ALPHA,
        parameters=(p.SEARCH, p.COMPLETE_ONLY, *_PAGE, *LISTING_PARAMETERS),
    ),
    Endpoint(
        "research.changes",
        "/v1/changes",
        "Publications, replacements, rollbacks and withdrawals of the alphas that the key may read, oldest first.",
        CHANGE,
        parameters=(p.SINCE, *_PAGE),
        meta=(
            text("next", "Cursor; pass it as `since` to continue after this page.", pattern=f"^{p.CURSOR}$"),
        ),
        errors=("cursor_not_known",),
    ),
    _run_endpoint(
        "research.snapshots.list",
        "/snapshots",
        "Snapshots kept of one alpha, newest first.",
        KEPT_SNAPSHOT,
        pinned=(),
    ),
    _run_endpoint(
        "research.snapshots.compare",
        "/snapshots/compare",
        "Changes between two snapshots of an alpha: figures, weeks, names and tables.",
        SNAPSHOT_COMPARISON,
        Shape.OBJECT,
        parameters=(p.FROM_SNAPSHOT, p.TO_SNAPSHOT),
        pinned=(),
        errors=("snapshot_not_found",),
    ),
    Endpoint(
        "research.benchmarks",
        "/v1/benchmarks",
        "Market indices that curves can be compared with; none if the deployment has no usable market data.",
        BENCHMARK_LISTED,
        parameters=_PAGE,
        errors=("benchmark_unavailable",),
    ),
    _run_endpoint(
        "research.neighbours",
        "/neighbours",
        "Other alphas, most similar first or least similar first.",
        NEIGHBOUR,
        parameters=(p.BY, p.BOOK, *_WINDOW, p.NEAREST, p.AMONG),
        meta=NEIGHBOURS_META,
        errors=("neighbours_not_ready",),
        datasets=("portfolio", "decisions", "positions"),
    ),
    Endpoint(
        "research.correlations",
        "/v1/correlations",
        "Similarity of each pair of the given alphas.",
        CORRELATIONS,
        Shape.OBJECT,
        parameters=(p.COMPARED, p.BY, p.BOOK, *_WINDOW),
        errors=("run_not_allowed", "run_not_found"),
    ),
    _run_endpoint(
        "research.contribution",
        "/contribution",
        "Contribution of the alpha to a book of others.",
        CONTRIBUTION,
        Shape.OBJECT,
        parameters=(p.BOOK_OF, p.WEIGHTS, p.BOOK, *_WINDOW),
        datasets=("portfolio",),
    ),
    _run_endpoint(
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
        _run_endpoint(
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
        "Number of discoveries among the alphas that the key may read, and their effective number.",
        CATALOGUE_LUCK,
        Shape.OBJECT,
        errors=("neighbours_not_ready",),
    ),
    _run_endpoint(
        "research.regimes",
        "/regimes",
        "Returns of a book in both halves of its record, in up and down markets and by volatility, with tests for a break.",
        REGIMES,
        Shape.OBJECT,
        parameters=(p.BOOK, *_WINDOW, p.BENCHMARK),
        meta=(_SOURCE_ALPHA_ID,),
        errors=("benchmark_unavailable",),
        datasets=("portfolio", "weekly_signal"),
    ),
    _run_endpoint(
        "research.exposures",
        "/exposures",
        "Regressions of a book's returns on benchmarks and factors: coefficients, residuals, attribution of the profit.",
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
        "Every alpha with its snapshot and missing kinds.",
        ADMIN_ALPHA,
        parameters=_PAGE,
        admin=True,
    ),
    Endpoint(
        "admin.alphas.readiness",
        "/v1/admin/alphas/{alpha}/readiness",
        "Contents of one alpha's snapshot, by kind.",
        READINESS,
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=("alpha_not_found",),
        admin=True,
    ),
    Endpoint(
        "admin.keys.usage",
        "/v1/admin/keys/{key_id}/usage",
        "Owner, limits and usage of one key.",
        KEY_USAGE,
        Shape.OBJECT,
        parameters=(p.KEY_PATH,),
        errors=("key_not_found",),
        admin=True,
    ),
)

ENDPOINTS: Final[dict[str, Endpoint]] = {entry.id: entry for entry in _ALL}
"""Registry id -> endpoint, in documented order."""

ADMIN_IDS: Final = tuple(entry.id for entry in _ALL if entry.admin)
META_IDS: Final = ("meta.health", "meta.keys", "meta.me")
"""Endpoints of a key without any grant."""


def registry_version() -> str:
    """Return a short digest of the ids and paths: it changes exactly if an endpoint or its group does."""
    text = "\n".join(f"{entry.id} {entry.path}" for entry in _ALL)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
