"""The endpoint registry: ids, paths, parameters, rows and the errors each may answer with."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Final

from schemas import parameters as p
from schemas.endpoint import AllowListScope, Endpoint, Shape
from schemas.listing_parameters import LISTING_PARAMETERS
from schemas.metrics.families import FAMILIES

_PAGE: Final = (p.LIMIT, p.OFFSET)
_WINDOW: Final = (p.FROM, p.TO)
_RUN: Final = "/v1/alphas/{alpha}"

_ALL: Final = (
    Endpoint(
        "meta.health",
        "/v1/health",
        "Is the service up, and since which build.",
        "health",
        Shape.BARE,
        public=True,
    ),
    Endpoint(
        "meta.me",
        "/v1/me",
        "Who the calling key is, what it may do and what it has used.",
        "me",
        Shape.OBJECT,
    ),
    Endpoint(
        "meta.keys", "/v1/me/keys", "The keys of the caller's account, newest first.", "key", parameters=_PAGE
    ),
    Endpoint(
        "catalog.alphas.list",
        "/v1/alphas",
        "The alphas this key may read, latest started first.",
        "alpha",
        parameters=(p.SEARCH, p.COMPLETE_ONLY, *_PAGE),
    ),
    Endpoint(
        "catalog.alphas.get",
        _RUN,
        "The written description of one alpha.",
        "description",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=("alpha_description_not_found",),
        allow_list=AllowListScope.ALPHAS,
    ),
    Endpoint(
        "catalog.alphas.source.download",
        _RUN + "/source/download",
        "A freshly signed, short-lived address of the run's source archive.",
        "source_download",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=(
            "source_not_ready",
            "source_object_missing",
            "source_download_unavailable",
            "source_download_not_configured",
        ),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "catalog.alphas.tables.list",
        _RUN + "/tables",
        "The published files this key may download: size, digest, span and columns of each; tables in the order of the "
        "dictionary, books in that of `/books`.",
        "table_file",
        parameters=(p.ALPHA_PATH, p.SNAPSHOT, *_PAGE),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "catalog.alphas.tables.download",
        _RUN + "/tables/{table}/download",
        "A freshly signed, short-lived address of one whole table as Parquet.",
        "table_download",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.TABLE_PATH, p.TABLE_BOOK, p.SNAPSHOT),
        errors=("unknown_book", "table_not_found"),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "signals.rebalances.list",
        _RUN + "/rebalances",
        "The index of weekly rebalance dates.",
        "rebalance",
        parameters=(p.ALPHA_PATH, *_WINDOW, p.SNAPSHOT, *_PAGE),
        datasets=("rebalances",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "signals.rebalances.get",
        _RUN + "/rebalances/{date}",
        "The cross-section of one rebalance week.",
        "decision",
        parameters=(
            p.ALPHA_PATH,
            p.DATE_PATH,
            p.SYMBOL,
            p.DIRECTION,
            p.MIN_ABS_WEIGHT,
            p.WEIGHT_BOOK,
            p.SORT,
            p.ORDER,
            p.SNAPSHOT,
            *_PAGE,
        ),
        errors=("rebalance_not_found",),
        datasets=("rebalances", "decisions"),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "signals.scores",
        _RUN + "/scores",
        "The score panel: one row per name per week.",
        "score",
        parameters=(p.ALPHA_PATH, *_WINDOW, p.SYMBOL, p.FIELDS, p.SNAPSHOT, *_PAGE),
        datasets=("decisions",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "portfolio.books",
        _RUN + "/books",
        "The books the run wrote, with the span and size of each dataset.",
        "book",
        parameters=(p.ALPHA_PATH, p.SNAPSHOT, *_PAGE),
        datasets=("books",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "portfolio.ledger",
        _RUN + "/portfolio",
        "The daily ledger of one book.",
        "portfolio",
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.NO_SYMBOL, p.SNAPSHOT, *_PAGE),
        errors=("unknown_book",),
        datasets=("portfolio",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "portfolio.positions",
        _RUN + "/positions",
        "The names one book held at each close.",
        "position",
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.SYMBOL, p.SNAPSHOT, *_PAGE),
        errors=("unknown_book",),
        datasets=("positions",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "portfolio.pnl",
        _RUN + "/pnl",
        "The daily profit and loss of each name of one book.",
        "pnl",
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.SYMBOL, p.SNAPSHOT, *_PAGE),
        errors=("unknown_book",),
        datasets=("pnl",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "portfolio.trades",
        _RUN + "/trades",
        "The fills of one book.",
        "trade",
        parameters=(p.ALPHA_PATH, p.REQUIRED_BOOK, *_WINDOW, p.SYMBOL, p.SNAPSHOT, *_PAGE),
        errors=("unknown_book",),
        datasets=("trades",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "portfolio.equity_curve",
        _RUN + "/equity-curve",
        "Equity, return and drawdown of one book, session by session.",
        "equity",
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.SNAPSHOT, p.DAILY_LIMIT, p.OFFSET),
        errors=("unknown_book",),
        datasets=("portfolio",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "performance.metrics",
        _RUN + "/metrics",
        "Performance and signal-quality figures.",
        "metrics",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, *_WINDOW, p.GRANULARITY, p.DOC, p.PANEL, p.SNAPSHOT),
        datasets=("sealed_metrics", "weekly_signal", "weekly_deciles", "portfolio", "rebalances"),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "performance.metrics.doc",
        _RUN + "/metrics/_doc",
        "What every figure of the metrics means and how it is computed.",
        "metrics_doc",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        allow_list=AllowListScope.RUNS,
        shared=True,
    ),
    Endpoint(
        "performance.audit",
        _RUN + "/audit",
        "What was checked of a run and what came of it: notices, earlier seals, figures and rules, worst first.",
        "audit",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "benchmarks.daily",
        "/v1/benchmarks/{symbol}/daily",
        "A market index to compare an equity curve with.",
        "benchmark",
        parameters=(p.SYMBOL_PATH, *_WINDOW, p.DAILY_LIMIT, p.OFFSET),
        errors=("benchmark_unavailable", "benchmark_not_configured"),
    ),
    Endpoint(
        "research.screen",
        "/v1/screen",
        "The alphas this key may read, sorted and chosen by their figures, tags and days.",
        "screened_alpha",
        parameters=(p.SEARCH, p.COMPLETE_ONLY, *_PAGE, *LISTING_PARAMETERS),
    ),
    Endpoint(
        "research.changes",
        "/v1/changes",
        "What was published, replaced, rolled back and withdrawn of the alphas this key may read, oldest first.",
        "change",
        parameters=(p.SINCE, *_PAGE),
        errors=("cursor_not_known",),
    ),
    Endpoint(
        "research.snapshots.list",
        _RUN + "/snapshots",
        "The snapshots of one alpha that are still there, newest first.",
        "kept_snapshot",
        parameters=(p.ALPHA_PATH, *_PAGE),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.snapshots.compare",
        _RUN + "/snapshots/compare",
        "Which figures, weeks, names and tables changed from one snapshot of an alpha to another.",
        "snapshot_comparison",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.FROM_SNAPSHOT, p.TO_SNAPSHOT),
        errors=("snapshot_not_found",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.benchmarks",
        "/v1/benchmarks",
        "The market indices that curves can be compared with; none where the deployment has no usable market data.",
        "benchmark_listed",
        parameters=_PAGE,
        errors=("benchmark_unavailable",),
    ),
    Endpoint(
        "research.neighbours",
        _RUN + "/neighbours",
        "The other alphas, the most alike first, or the least alike.",
        "neighbour",
        parameters=(p.ALPHA_PATH, p.BY, p.BOOK, *_WINDOW, p.NEAREST, p.AMONG, p.SNAPSHOT, *_PAGE),
        errors=("unknown_book", "neighbours_not_ready"),
        datasets=("portfolio", "decisions", "positions"),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.correlations",
        "/v1/correlations",
        "How alike each two of some alphas are.",
        "correlations",
        Shape.OBJECT,
        parameters=(p.COMPARED, p.BY, p.BOOK, *_WINDOW),
        errors=("run_not_allowed", "run_not_found", "unknown_book"),
    ),
    Endpoint(
        "research.contribution",
        _RUN + "/contribution",
        "What the alpha adds to a book of others.",
        "contribution",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.BOOK_OF, p.WEIGHTS, p.BOOK, *_WINDOW, p.SNAPSHOT),
        errors=("unknown_book",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.luck",
        _RUN + "/luck",
        "How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure.",
        "luck",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.TRIALS, p.TRIAL_DEVIATION, p.SNAPSHOT),
        errors=("unknown_book",),
        datasets=("portfolio", "weekly_signal"),
        allow_list=AllowListScope.RUNS,
    ),
    *(
        Endpoint(
            family.endpoint,
            f"{_RUN}/{family.name}",
            family.summary,
            family.name,
            Shape.OBJECT,
            parameters=(p.ALPHA_PATH, *((p.BOOK,) if family.by_book else ()), p.SNAPSHOT),
            errors=("unknown_book",) if family.by_book else (),
            allow_list=AllowListScope.RUNS,
        )
        for family in FAMILIES.values()
    ),
    Endpoint(
        "research.luck.catalogue",
        "/v1/luck",
        "How many of the alphas this key may read count as discoveries, and how many independent ones they come to.",
        "catalogue_luck",
        Shape.OBJECT,
        errors=("neighbours_not_ready",),
    ),
    Endpoint(
        "research.regimes",
        _RUN + "/regimes",
        "A book in the halves of its record, in up and down markets, in calm and rough ones; and whether its record broke.",
        "regimes",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.BENCHMARK, p.SNAPSHOT),
        errors=("unknown_book", "benchmark_unavailable"),
        datasets=("portfolio", "weekly_signal"),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "research.exposures",
        _RUN + "/exposures",
        "What of a book's returns benchmarks and factors explain: coefficients, what is left, the profit of each.",
        "exposures",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.BOOK, *_WINDOW, p.BENCHMARKS, p.ROLLING, p.SNAPSHOT),
        errors=("unknown_book", "benchmark_unavailable"),
        datasets=("portfolio",),
        allow_list=AllowListScope.RUNS,
    ),
    Endpoint(
        "admin.alphas.list",
        "/v1/admin/alphas",
        "Every alpha with its snapshot and what its run lacks.",
        "admin_alpha",
        parameters=_PAGE,
        admin=True,
    ),
    Endpoint(
        "admin.alphas.readiness",
        "/v1/admin/alphas/{alpha}/readiness",
        "Kind by kind, what one alpha's snapshot holds.",
        "readiness",
        Shape.OBJECT,
        parameters=(p.ALPHA_PATH, p.SNAPSHOT),
        errors=("alpha_not_found",),
        admin=True,
    ),
    Endpoint(
        "admin.keys.usage",
        "/v1/admin/keys/{key_id}/usage",
        "Owner, limits and use of one key.",
        "key_usage",
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
