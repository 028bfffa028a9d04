"""A method for each endpoint, asynchronous."""

# Written by `just docs` from the declarations of the interface; a test fails when it is stale.

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, Union

from alpha_results_client.values import Value, format_value

F = TypeVar("F")
Day = Union[str, dt.date]


class AsyncClientMethods(Generic[F]):
    """Endpoints of the service."""

    async def _collection(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> F:
        raise NotImplementedError

    async def _object(
        self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def health(self) -> dict[str, Any]:
        """Is the service up, and since which build."""
        return await self._object("meta.health", {}, {})

    async def me(self) -> dict[str, Any]:
        """Who the calling key is, what it may do and what it has used."""
        return await self._object("meta.me", {}, {})

    async def keys(self) -> F:
        """The keys of the caller's account, newest first."""
        return await self._collection("meta.keys", {}, {})

    async def alphas(
        self,
        *,
        search: str | None = None,
        complete_only: bool = False,
        fields: str | Sequence[str] | None = None,
        sort: Literal[
            "alpha_id",
            "-alpha_id",
            "name",
            "-name",
            "started_at",
            "-started_at",
            "published_at",
            "-published_at",
            "ic",
            "-ic",
            "icir",
            "-icir",
            "information_ratio",
            "-information_ratio",
            "sharpe",
            "-sharpe",
            "excess_sharpe",
            "-excess_sharpe",
            "pnl",
            "-pnl",
            "max_drawdown",
            "-max_drawdown",
            "max_drawdown_pct",
            "-max_drawdown_pct",
            "turnover",
            "-turnover",
            "hit_rate",
            "-hit_rate",
            "dispersion",
            "-dispersion",
            "coverage",
            "-coverage",
            "ic_raw",
            "-ic_raw",
            "icir_raw",
            "-icir_raw",
        ]
        | None = None,
        tag: str | None = None,
        started_from: Day | None = None,
        started_to: Day | None = None,
        published_from: Day | None = None,
        published_to: Day | None = None,
        min_ic: float | None = None,
        max_ic: float | None = None,
        min_icir: float | None = None,
        max_icir: float | None = None,
        min_information_ratio: float | None = None,
        max_information_ratio: float | None = None,
        min_sharpe: float | None = None,
        max_sharpe: float | None = None,
        min_excess_sharpe: float | None = None,
        max_excess_sharpe: float | None = None,
        min_pnl: float | None = None,
        max_pnl: float | None = None,
        min_max_drawdown: float | None = None,
        max_max_drawdown: float | None = None,
        min_max_drawdown_pct: float | None = None,
        max_max_drawdown_pct: float | None = None,
        min_turnover: float | None = None,
        max_turnover: float | None = None,
        min_hit_rate: float | None = None,
        max_hit_rate: float | None = None,
        min_dispersion: float | None = None,
        max_dispersion: float | None = None,
        min_coverage: float | None = None,
        max_coverage: float | None = None,
        min_ic_raw: float | None = None,
        max_ic_raw: float | None = None,
        min_icir_raw: float | None = None,
        max_icir_raw: float | None = None,
    ) -> F:
        """The alphas this key may read, latest started first, or sorted and chosen by their figures.

        Parameters
        ----------
        search
            Case-insensitive substring of `alpha_id`, `name` or `tldr`.
        complete_only
            Leave out alphas whose run lacks a required kind.
        fields
            Figures to add to each row as `figures`, with the reason in `withheld` for each that has no value; those of the metrics of the whole run, digit for digit; `figures_checked` says what each rests on. A figure that a run sealed in another unit than the one here is withheld, for it does not compare. They are `ic`: Mean weekly information coefficient of the delivered (conditioned) score. (ratio, one rebalance period), `icir`: How steady the weekly information coefficient is: its mean over its deviation. (ratio, annualised), `information_ratio`: Return of the long_short book per unit of its own risk, before the risk-free rate. (ratio, annualised), `sharpe`: Deprecated name of information_ratio., `excess_sharpe`: Return of the long_short book above the risk-free rate, per unit of risk. (ratio, annualised), `pnl`: Profit of the long_short book. (ratio), `max_drawdown`: Deepest fall of the long_short book's equity below its running peak, in units of equity. (ratio), `max_drawdown_pct`: Deepest fall of the long_short book's equity as a percentage of its running peak. (percentage points), `turnover`: One-sided turnover of the long_short book. Its unit tells which of the sealed forms it is. (per year, annualised), `hit_rate`: Share of the measured weeks in which the information coefficient was above zero. (ratio), `dispersion`: How much the information coefficient varies from week to week. (ratio, one rebalance period), `coverage`: How much of a traded week's cross-section has both a score and a forward return. (ratio), `ic_raw`: Mean weekly information coefficient of the score before smoothing. (ratio, one rebalance period), `icir_raw`: How steady the information coefficient before smoothing is. (ratio, annualised)
        sort
            What the list is ordered by, descending with `-` before it; what has no value comes last either way, and so does a figure that a run stated and no table supports; ties are ordered by address. Latest started first when left out.
        tag
            Keep alphas whose written description has this tag, letter case aside.
        started_from
            First day (UTC) on which the run was started, inclusive.
        started_to
            Last day of that, inclusive.
        published_from
            First day (UTC) on which the snapshot became the served one for the first time, inclusive.
        published_to
            Last day of that, inclusive.
        min_ic
            Keep alphas whose `ic` is at least this; one without a value, or that no table supports, is left out.
        max_ic
            Keep alphas whose `ic` is at most this; one without a value, or that no table supports, is left out.
        min_icir
            Keep alphas whose `icir` is at least this; one without a value, or that no table supports, is left out.
        max_icir
            Keep alphas whose `icir` is at most this; one without a value, or that no table supports, is left out.
        min_information_ratio
            Keep alphas whose `information_ratio` is at least this; one without a value, or that no table supports, is left out.
        max_information_ratio
            Keep alphas whose `information_ratio` is at most this; one without a value, or that no table supports, is left out.
        min_sharpe
            Keep alphas whose `sharpe` is at least this; one without a value, or that no table supports, is left out.
        max_sharpe
            Keep alphas whose `sharpe` is at most this; one without a value, or that no table supports, is left out.
        min_excess_sharpe
            Keep alphas whose `excess_sharpe` is at least this; one without a value, or that no table supports, is left out.
        max_excess_sharpe
            Keep alphas whose `excess_sharpe` is at most this; one without a value, or that no table supports, is left out.
        min_pnl
            Keep alphas whose `pnl` is at least this; one without a value, or that no table supports, is left out.
        max_pnl
            Keep alphas whose `pnl` is at most this; one without a value, or that no table supports, is left out.
        min_max_drawdown
            Keep alphas whose `max_drawdown` is at least this; one without a value, or that no table supports, is left out.
        max_max_drawdown
            Keep alphas whose `max_drawdown` is at most this; one without a value, or that no table supports, is left out.
        min_max_drawdown_pct
            Keep alphas whose `max_drawdown_pct` is at least this; one without a value, or that no table supports, is left out.
        max_max_drawdown_pct
            Keep alphas whose `max_drawdown_pct` is at most this; one without a value, or that no table supports, is left out.
        min_turnover
            Keep alphas whose `turnover` is at least this; one without a value, or that no table supports, is left out.
        max_turnover
            Keep alphas whose `turnover` is at most this; one without a value, or that no table supports, is left out.
        min_hit_rate
            Keep alphas whose `hit_rate` is at least this; one without a value, or that no table supports, is left out.
        max_hit_rate
            Keep alphas whose `hit_rate` is at most this; one without a value, or that no table supports, is left out.
        min_dispersion
            Keep alphas whose `dispersion` is at least this; one without a value, or that no table supports, is left out.
        max_dispersion
            Keep alphas whose `dispersion` is at most this; one without a value, or that no table supports, is left out.
        min_coverage
            Keep alphas whose `coverage` is at least this; one without a value, or that no table supports, is left out.
        max_coverage
            Keep alphas whose `coverage` is at most this; one without a value, or that no table supports, is left out.
        min_ic_raw
            Keep alphas whose `ic_raw` is at least this; one without a value, or that no table supports, is left out.
        max_ic_raw
            Keep alphas whose `ic_raw` is at most this; one without a value, or that no table supports, is left out.
        min_icir_raw
            Keep alphas whose `icir_raw` is at least this; one without a value, or that no table supports, is left out.
        max_icir_raw
            Keep alphas whose `icir_raw` is at most this; one without a value, or that no table supports, is left out.
        """
        return await self._collection(
            "catalog.alphas.list",
            {},
            {
                "search": search,
                "complete_only": complete_only,
                "fields": fields,
                "sort": sort,
                "tag": tag,
                "started_from": started_from,
                "started_to": started_to,
                "published_from": published_from,
                "published_to": published_to,
                "min_ic": min_ic,
                "max_ic": max_ic,
                "min_icir": min_icir,
                "max_icir": max_icir,
                "min_information_ratio": min_information_ratio,
                "max_information_ratio": max_information_ratio,
                "min_sharpe": min_sharpe,
                "max_sharpe": max_sharpe,
                "min_excess_sharpe": min_excess_sharpe,
                "max_excess_sharpe": max_excess_sharpe,
                "min_pnl": min_pnl,
                "max_pnl": max_pnl,
                "min_max_drawdown": min_max_drawdown,
                "max_max_drawdown": max_max_drawdown,
                "min_max_drawdown_pct": min_max_drawdown_pct,
                "max_max_drawdown_pct": max_max_drawdown_pct,
                "min_turnover": min_turnover,
                "max_turnover": max_turnover,
                "min_hit_rate": min_hit_rate,
                "max_hit_rate": max_hit_rate,
                "min_dispersion": min_dispersion,
                "max_dispersion": max_dispersion,
                "min_coverage": min_coverage,
                "max_coverage": max_coverage,
                "min_ic_raw": min_ic_raw,
                "max_ic_raw": max_ic_raw,
                "min_icir_raw": min_icir_raw,
                "max_icir_raw": max_icir_raw,
            },
        )

    async def benchmark(self, symbol: str, *, start: Day | None = None, end: Day | None = None) -> F:
        """A market index to compare an equity curve with.

        Parameters
        ----------
        symbol
            A benchmark this deployment holds, in capitals; any other is a 400 that lists those it holds.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        """
        return await self._collection(
            "benchmarks.daily", {"symbol": format_value(symbol)}, {"from": start, "to": end}
        )

    async def changes(self, *, since: str | None = None) -> F:
        """What was published, replaced, rolled back and withdrawn of the alphas this key may read, oldest first.

        Parameters
        ----------
        since
            Read on behind this place: `meta.next` of the page before, or the `cursor` of a row. From the oldest change that is remembered when left out.
        """
        return await self._collection("research.changes", {}, {"since": since})

    async def benchmarks(self) -> F:
        """The market indices that curves can be compared with; none where the deployment has no usable market data."""
        return await self._collection("research.benchmarks", {}, {})

    async def correlations(
        self,
        book: str = "long_short",
        *,
        alphas: str | Sequence[str],
        by: Literal["returns", "scores", "holdings"] = "returns",
        start: Day | None = None,
        end: Day | None = None,
    ) -> dict[str, Any]:
        """How alike each two of some alphas are.

        Parameters
        ----------
        alphas
            The alphas to compare, in the order of rows and columns.
        by
            What is compared: `returns`, the daily returns of the book; `scores`, week by week the ranks of the scores over the names that both score; `holdings`, session by session the names the book holds.
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        """
        return await self._object(
            "research.correlations", {}, {"alphas": alphas, "by": by, "book": book, "from": start, "to": end}
        )

    async def admin_alphas(self) -> F:
        """Every alpha with its snapshot and what its run lacks."""
        return await self._collection("admin.alphas.list", {}, {})

    async def key_usage(self, key_id: str) -> dict[str, Any]:
        """Owner, limits and use of one key.

        Parameters
        ----------
        key_id
            The id of a key.
        """
        return await self._object("admin.keys.usage", {"key_id": format_value(key_id)}, {})


class AsyncRunMethods(Generic[F]):
    """Endpoints of one alpha's run."""

    async def _collection(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> F:
        raise NotImplementedError

    async def _object(
        self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def description(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """The written description of one alpha.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object("catalog.alphas.get", {}, {"snapshot": snapshot})

    async def source_download(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """A freshly signed, short-lived address of the run's source archive.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object("catalog.alphas.source.download", {}, {"snapshot": snapshot})

    async def tables(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """The published files this key may download: size, digest, span and columns of each.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object("catalog.alphas.tables.list", {}, {"snapshot": snapshot})

    async def tables_download(
        self,
        table: Literal[
            "rebalances",
            "decisions",
            "portfolio",
            "positions",
            "pnl",
            "trades",
            "trials",
            "books",
            "equity_curve",
            "weekly_signal",
            "weekly_deciles",
            "sealed_metrics",
        ],
        book: str | None = None,
        *,
        snapshot: str | None = None,
    ) -> dict[str, Any]:
        """A freshly signed, short-lived address of one whole table as Parquet.

        Parameters
        ----------
        table
            A published table; which of them the run has, and the key may read, `/v1/alphas/{alpha}/tables` lists.
        book
            The book whose file it is, `long_short` by default; only of tables that are stored by book.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object(
            "catalog.alphas.tables.download",
            {"table": format_value(table)},
            {"book": book, "snapshot": snapshot},
        )

    async def rebalances(
        self, *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None
    ) -> F:
        """The index of weekly rebalance dates.

        Parameters
        ----------
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "signals.rebalances.list", {}, {"from": start, "to": end, "snapshot": snapshot}
        )

    async def rebalance(
        self,
        date: Day,
        *,
        symbols: str | Sequence[str] | None = None,
        direction: Literal["1", "long", "-1", "short", "0", "flat", "neutral"] | None = None,
        min_abs_weight: float | None = None,
        book: Literal["long_short", "long_only"] = "long_short",
        sort: Literal["score", "rank", "weight", "symbol"] = "score",
        order: Literal["asc", "desc"] | None = None,
        snapshot: str | None = None,
    ) -> F:
        """The cross-section of one rebalance week.

        Parameters
        ----------
        date
            A rebalance date of the index.
        symbols
            Keep only these tickers, letter case and all; one the run never had matches nothing, and a warning says so.
        direction
            Keep one side of the cross-section.
        min_abs_weight
            Drop names whose absolute target weight, in the column chosen by `book`, is below this.
        book
            Whose target-weight column `min_abs_weight` and `sort=weight` act on; both columns are returned.
        sort
            Column the rows are ordered by; ties are ordered by ticker.
        order
            Direction of the order; by default descending for score and weight, ascending for rank and symbol.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "signals.rebalances.get",
            {"date": format_value(date)},
            {
                "symbol": symbols,
                "direction": direction,
                "min_abs_weight": min_abs_weight,
                "book": book,
                "sort": sort,
                "order": order,
                "snapshot": snapshot,
            },
        )

    async def scores(
        self,
        *,
        start: Day | None = None,
        end: Day | None = None,
        symbols: str | Sequence[str] | None = None,
        fields: Literal["core", "all"] = "core",
        snapshot: str | None = None,
    ) -> F:
        """The score panel: one row per name per week.

        Parameters
        ----------
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        symbols
            Keep only these tickers, letter case and all; one the run never had matches nothing, and a warning says so.
        fields
            The columns of each row: the nine core ones, or the whole decision record.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "signals.scores",
            {},
            {"from": start, "to": end, "symbol": symbols, "fields": fields, "snapshot": snapshot},
        )

    async def books(self, *, snapshot: str | None = None) -> F:
        """The books the run wrote, with the span and size of each dataset.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection("portfolio.books", {}, {"snapshot": snapshot})

    async def portfolio(
        self,
        book: str = "long_short",
        *,
        start: Day | None = None,
        end: Day | None = None,
        snapshot: str | None = None,
    ) -> F:
        """The daily ledger of one book.

        Parameters
        ----------
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "portfolio.ledger", {}, {"book": book, "from": start, "to": end, "snapshot": snapshot}
        )

    async def positions(
        self,
        book: str = "long_short",
        *,
        start: Day | None = None,
        end: Day | None = None,
        symbols: str | Sequence[str] | None = None,
        snapshot: str | None = None,
    ) -> F:
        """The names one book held at each close.

        Parameters
        ----------
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        symbols
            Keep only these tickers, letter case and all; one the run never had matches nothing, and a warning says so.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "portfolio.positions",
            {},
            {"book": book, "from": start, "to": end, "symbol": symbols, "snapshot": snapshot},
        )

    async def pnl(
        self,
        book: str = "long_short",
        *,
        start: Day | None = None,
        end: Day | None = None,
        symbols: str | Sequence[str] | None = None,
        snapshot: str | None = None,
    ) -> F:
        """The daily profit and loss of each name of one book.

        Parameters
        ----------
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        symbols
            Keep only these tickers, letter case and all; one the run never had matches nothing, and a warning says so.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "portfolio.pnl",
            {},
            {"book": book, "from": start, "to": end, "symbol": symbols, "snapshot": snapshot},
        )

    async def trades(
        self,
        book: str,
        *,
        start: Day | None = None,
        end: Day | None = None,
        symbols: str | Sequence[str] | None = None,
        snapshot: str | None = None,
    ) -> F:
        """The fills of one book.

        Parameters
        ----------
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        symbols
            Keep only these tickers, letter case and all; one the run never had matches nothing, and a warning says so.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "portfolio.trades",
            {},
            {"book": book, "from": start, "to": end, "symbol": symbols, "snapshot": snapshot},
        )

    async def equity_curve(
        self,
        book: str = "long_short",
        *,
        start: Day | None = None,
        end: Day | None = None,
        snapshot: str | None = None,
    ) -> F:
        """Equity, return and drawdown of one book, session by session.

        Parameters
        ----------
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "portfolio.equity_curve", {}, {"book": book, "from": start, "to": end, "snapshot": snapshot}
        )

    async def metrics(
        self,
        *,
        start: Day | None = None,
        end: Day | None = None,
        granularity: Literal["overall", "yearly", "monthly"] = "overall",
        doc: bool = False,
        panel: bool = False,
        snapshot: str | None = None,
    ) -> dict[str, Any]:
        """Performance and signal-quality figures.

        Parameters
        ----------
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        granularity
            Whether `periods` breaks the core statistics down by year or by month.
        doc
            Embed the documentation block.
        panel
            Add the weekly panel block.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object(
            "performance.metrics",
            {},
            {
                "from": start,
                "to": end,
                "granularity": granularity,
                "doc": doc,
                "panel": panel,
                "snapshot": snapshot,
            },
        )

    async def metrics_doc(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """What every figure of the metrics means and how it is computed.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object("performance.metrics.doc", {}, {"snapshot": snapshot})

    async def audit(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """What was checked of a run and what came of it: notices, earlier seals, figures and rules, the weightiest first.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object("performance.audit", {}, {"snapshot": snapshot})

    async def snapshots(self) -> F:
        """The snapshots of one alpha that are still there, newest first."""
        return await self._collection("research.snapshots.list", {}, {})

    async def compare_snapshots(
        self, *, from_snapshot: str | None = None, to_snapshot: str | None = None
    ) -> dict[str, Any]:
        """Which figures, weeks, names and tables changed from one snapshot of an alpha to another.

        Parameters
        ----------
        from_snapshot
            Id of the earlier snapshot; when left out, the one published before the later one, or that one itself where no other is there.
        to_snapshot
            Id of the later snapshot; the one served when left out.
        """
        return await self._object(
            "research.snapshots.compare", {}, {"from_snapshot": from_snapshot, "to_snapshot": to_snapshot}
        )

    async def neighbours(
        self,
        book: str = "long_short",
        *,
        by: Literal["returns", "scores", "holdings"] = "returns",
        start: Day | None = None,
        end: Day | None = None,
        order: Literal["nearest", "farthest"] = "nearest",
        among: str | Sequence[str] | None = None,
        snapshot: str | None = None,
    ) -> F:
        """The other alphas, the most alike first, or the least alike.

        Parameters
        ----------
        by
            What is compared: `returns`, the daily returns of the book; `scores`, week by week the ranks of the scores over the names that both score; `holdings`, session by session the names the book holds.
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        order
            Whether the most alike come first or the least alike; ties are ordered by address.
        among
            Compare with these alphas alone rather than with all that the key may read. With `by=scores` and `by=holdings`, which are read from the files of each, it is needed where the key may read more than 50 others.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._collection(
            "research.neighbours",
            {},
            {
                "by": by,
                "book": book,
                "from": start,
                "to": end,
                "order": order,
                "among": among,
                "snapshot": snapshot,
            },
        )

    async def contribution(
        self,
        book: str = "long_short",
        *,
        alphas: str | Sequence[str],
        start: Day | None = None,
        end: Day | None = None,
        snapshot: str | None = None,
    ) -> dict[str, Any]:
        """What the alpha adds to an equal-weight book of others.

        Parameters
        ----------
        alphas
            The alphas of the book; a repeated one counts once, and the alpha asked about is left out.
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object(
            "research.contribution",
            {},
            {"alphas": alphas, "book": book, "from": start, "to": end, "snapshot": snapshot},
        )

    async def luck(
        self,
        book: str = "long_short",
        *,
        start: Day | None = None,
        end: Day | None = None,
        trials: int | None = None,
        trial_deviation: float | None = None,
        snapshot: str | None = None,
    ) -> dict[str, Any]:
        """How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure.

        Parameters
        ----------
        book
            The book to read.
        start
            First day of the window, inclusive.
        end
            Last day of the window, inclusive.
        trials
            How many trials the run was picked from, itself counted; each counts as one, so leave out copies. By default what the run sealed of a search, else what the catalogue has.
        trial_deviation
            Standard deviation of the annualised Sharpe ratios of those trials; by default that of the trials whose returns were sealed, else of the runs counted in the catalogue.
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object(
            "research.luck",
            {},
            {
                "book": book,
                "from": start,
                "to": end,
                "trials": trials,
                "trial_deviation": trial_deviation,
                "snapshot": snapshot,
            },
        )

    async def readiness(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Kind by kind, what one alpha's snapshot holds.

        Parameters
        ----------
        snapshot
            Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.
        """
        return await self._object("admin.alphas.readiness", {}, {"snapshot": snapshot})
