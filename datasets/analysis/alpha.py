"""Snapshots for analysts: figures, returns, benchmarks, factors, units."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import polars as pl

from datasets.analysis.units import units
from datasets.analysis.window import require_window
from datasets.figures.price import Benchmark
from datasets.figures.series import FULL_HISTORY, Window
from datasets.market_data.benchmark_prices import read_benchmark
from datasets.market_data.operator_files import read_all
from datasets.market_data.prices import is_configured, read_symbols
from datasets.snapshot import Snapshot
from schemas.errors import SettingsError
from schemas.metrics.statistic import SOURCES
from schemas.parameters import MIN_ROLLING
from schemas.settings import SETTINGS, setting_named_in_errors, setting_value
from schemas.tables.sealed_metrics import SCOPES
from schemas.warning_codes import CODES, by_member

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import pandas as pd

_AUDIT: Final = {
    **dict.fromkeys(("kind", "id", "status", "figure"), pl.String),
    **dict.fromkeys(("value", "threshold"), pl.Float64),
    **dict.fromkeys(("unit", "reason", "details"), pl.String),
}


class Alpha(Snapshot):
    """A snapshot with methods for analysis."""

    def require_book(self, book: str) -> None:
        """Raise KindNotPublished for a book that the run lacks; the figures of a run without books are withheld instead."""
        if self.books("portfolio"):
            self.entry("portfolio", book)

    def metrics(
        self,
        *,
        first: dt.date | None = None,
        last: dt.date | None = None,
        granularity: str = "overall",
        panel: bool = False,
        raw: bool = True,
    ) -> dict[str, Any]:
        """Return the figures of the run, as `/v1/alphas/{alpha}/metrics` returns them for the same parameters.

        Parameters
        ----------
        first, last : datetime.date or None
            Window of ``within_window`` and of the other blocks that depend on a window; None for an open end.
        granularity : str
            ``overall``, ``yearly`` or ``monthly``.
        panel : bool
            Whether to include the weekly panel.
        raw : bool
            Whether to answer as for a key with raw-book access; without it, the smoothing and the raw columns and records are
            not named.

        Returns
        -------
        dict
            The ``data`` of the answer, and the ``warnings`` and ``notices`` of its ``meta``. A withheld figure is null and
            has a reason.

        Raises
        ------
        SettingsError
            When the granularity is unknown, a flag is not a bool, an end is not a day, or the first day is after the last.
        SnapshotCorrupt
            When a source file of the figures is missing or damaged.
        """
        from datasets.figure_data import read_figures  # noqa: PLC0415 - slow to load
        from datasets.figures.checks import named_alphas  # noqa: PLC0415 - as above
        from datasets.figures.run_metrics import MetricsQuery, assemble  # noqa: PLC0415 - as above

        if granularity not in SCOPES:
            raise SettingsError(f"no granularity {granularity!r}; there are {', '.join(SCOPES)}")
        for name, flag in (("panel", panel), ("raw", raw)):
            if not isinstance(flag, bool):  # the text "false" would count as true
                raise SettingsError(f"{name}={flag!r}: give True or False")
        query = MetricsQuery(
            frozenset(source.endpoint for source in SOURCES),
            require_window(Window(first, last)),
            granularity,
            panel=panel,
            raw=raw,
            alphas=frozenset(name for notice in self.manifest.notices for name in named_alphas(notice)),
        )
        answer = assemble(read_figures(self), query)
        return {**answer.data, **{member: [] for member in CODES}, **by_member(answer.warnings)}

    def audit(self) -> pl.DataFrame:
        """Return the checks of the run and their outcomes, as `/v1/alphas/{alpha}/audit` lists them.

        Returns
        -------
        polars.DataFrame
            One row per check, worst first: kind, id, status (withheld, notice, not_checked or pass), figure, value,
            threshold, unit, reason, and further details as JSON text. Checks of raw columns and of other alphas are included.

        Raises
        ------
        SnapshotCorrupt
            When the manifest is missing or damaged.
        """
        from datasets.provenance.audit import audit_entries  # noqa: PLC0415 - slow to load

        rows = [
            {**entry, "details": orjson.dumps(entry["details"]).decode()}
            for entry in audit_entries(self.manifest)
        ]
        return pl.DataFrame(rows, schema=_AUDIT)

    def concentration(self, book: str = "long_short") -> dict[str, Any]:
        """Return the legs of a book and the concentration of its P&L, as `/v1/alphas/{alpha}/concentration` returns them.

        Parameters
        ----------
        book : str
            Name of the book.

        Returns
        -------
        dict
            The ``data`` of the answer; a withheld figure is null, with its reason in ``withheld``.

        Raises
        ------
        KindNotPublished
            When the run has other books, but not this one.
        SnapshotCorrupt
            When the published figures are missing or damaged.
        """
        self.require_book(book)
        return self.research("concentration", book)

    def costs(self, book: str = "long_short") -> dict[str, Any]:
        """Return the costs of trading and borrowing of a book, as `/v1/alphas/{alpha}/costs` returns them.

        Parameter, result and errors are those of :meth:`concentration`.
        """
        self.require_book(book)
        return self.research("costs", book)

    def risk(self, book: str = "long_short") -> dict[str, Any]:
        """Return drawdowns, tails and rolling figures of a book, as `/v1/alphas/{alpha}/risk` returns them.

        Parameter, result and errors are those of :meth:`concentration`.
        """
        self.require_book(book)
        return self.research("risk", book)

    def signal(self) -> dict[str, Any]:
        """Return the signal quality of the delivered score, as `/v1/alphas/{alpha}/signal` returns it.

        Result and errors are those of :meth:`concentration`.
        """
        return self.research("signal")

    def returns(self, book: str = "long_short") -> pl.DataFrame:
        """Return the daily returns of a book.

        Parameters
        ----------
        book : str
            Name of the book.

        Returns
        -------
        polars.DataFrame
            ``date`` and ``period_return``, a fraction; one row per session, ascending.

        Raises
        ------
        KindNotPublished
            When the snapshot has no such book.
        """
        return self.read("equity_curve", ("date", "period_return"), book)

    def benchmark(
        self,
        market_data: str | os.PathLike[str] | None = None,
        *,
        symbol: str | None = None,
        book: str = "long_short",
    ) -> pl.DataFrame:
        """Return a benchmark over the sessions of a book.

        The benchmark starts at the close before the first session of the book, as the book starts at its opening equity. If
        the market data have no earlier close, the first return is null and the benchmark starts at the first session's close.

        Parameters
        ----------
        market_data : str, os.PathLike or None
            A Parquet file or a folder of them; None to use the setting of that name.
        symbol : str or None
            Symbol in upper or lower case; None for SPY, or for the only symbol.
        book : str
            Name of the book.

        Returns
        -------
        polars.DataFrame
            One row per day of the benchmark from the first to the last session: ``date``, ``close``, ``period_return`` and
            ``cumulative_return`` (fractions), and ``drawdown_pct`` (percentage points of the peak).

        Raises
        ------
        SettingsError
            When market data are not configured, the symbol is missing, or a file breaks a rule.
        KindNotPublished
            When the snapshot has no such book.
        """
        return read_benchmark(self, market_data, symbol, book).rows(from_previous=True)

    def exposures(
        self,
        market_data: str | os.PathLike[str] | None = None,
        factors: str | os.PathLike[str] | None = None,
        *,
        benchmarks: str | Sequence[str | None] | None = None,
        book: str = "long_short",
        window: Window = FULL_HISTORY,
        rolling: int = 252,
    ) -> dict[str, Any]:
        """Return the exposures of a book to benchmarks and factors, as `/v1/alphas/{alpha}/exposures` returns them.

        Parameters
        ----------
        market_data, factors : str, os.PathLike or None
            Parquet files as described in docs/market-data.md; None to use the settings of these names. Without a file or a
            setting, the models that need it are withheld.
        benchmarks : str, sequence of (str or None), or None
            One symbol, or several, one regression each; None for SPY, or for the only symbol.
        book : str
            Name of the book.
        window : Window
            Days to explain.
        rolling : int
            Sessions of each rolling regression, at least 20.

        Returns
        -------
        dict
            The ``data`` of the answer; a withheld figure is null, with its reason in ``withheld``.

        Raises
        ------
        SettingsError
            When a file breaks a rule or lacks a symbol, `rolling` is too small or not a whole number, or the window is not one
            of days.
        KindNotPublished
            When the run has other books, but not this one.
        SnapshotCorrupt
            When the ledger is missing or damaged.
        """
        from datasets.figure_data import read_ledger  # noqa: PLC0415 - as above
        from datasets.figures.exposures import explain  # noqa: PLC0415 - as above
        from datasets.market_data.factors import read_factors  # noqa: PLC0415 - slow to load

        if not isinstance(rolling, int | np.integer) or rolling < MIN_ROLLING:
            raise SettingsError(f"rolling={rolling!r}: give a whole number, at least {MIN_ROLLING} sessions")
        window = require_window(window)
        self.require_book(book)
        withheld = {}
        series: Sequence[Benchmark] = ()
        if is_configured(market_data):
            if isinstance(benchmarks, str) or not isinstance(benchmarks, Iterable):
                benchmarks = (benchmarks,)
            series = read_symbols(market_data, benchmarks)
        else:
            withheld["benchmarks"] = "no market data were given"
        address = setting_value(SETTINGS["factors"], os.environ, factors)
        if address is None:
            table, withheld["factors"] = None, "no file of factors was given"
        else:
            with setting_named_in_errors("factors"):
                table = read_factors(read_all(address))
        ledger = read_ledger(self, book)
        return {"book": book, **explain(ledger, window, series, table, rolling=rolling, withheld=withheld)}

    def regimes(
        self,
        market_data: str | os.PathLike[str] | None = None,
        *,
        benchmark: str | None = None,
        book: str = "long_short",
        window: Window = FULL_HISTORY,
    ) -> dict[str, Any]:
        """Return the regimes and break tests of a book, as `/v1/alphas/{alpha}/regimes` returns them.

        Parameters
        ----------
        market_data : str, os.PathLike or None
            A Parquet file or a folder of them; None to use the setting of that name. Without a file or a setting, the market
            regimes are withheld.
        benchmark : str or None
            Symbol whose returns define the market regimes; None for SPY, or for the only symbol.
        book : str
            Name of the book.
        window : Window
            Days to measure.

        Returns
        -------
        dict
            The ``data`` of the answer; a withheld figure is null, with its reason in ``withheld``.

        Raises
        ------
        SettingsError
            When the market data lack the symbol, a file breaks a rule, or the window is not one of days.
        KindNotPublished
            When the run has other books, but not this one.
        SnapshotCorrupt
            When a file is missing or damaged.
        """
        from datasets.figure_data import read_ledger, read_weekly_ic  # noqa: PLC0415 - slow to load
        from datasets.figures.regimes import measure  # noqa: PLC0415 - as above

        window = require_window(window)
        self.require_book(book)
        market: Benchmark | str = "no market data were given"
        if is_configured(market_data):
            (market,) = read_symbols(market_data, (benchmark,))
        ledger, weekly = read_ledger(self, book), read_weekly_ic(self)
        return measure(self.alpha_id, ledger, weekly, market, book=book, window=window)

    def luck(self, *, book: str = "long_short", window: Window = FULL_HISTORY) -> dict[str, Any]:
        """Return the luck figures of a book, as `/v1/alphas/{alpha}/luck` returns them.

        Parameters
        ----------
        book : str
            Name of the book.
        window : Window
            Days to measure.

        Returns
        -------
        dict
            The ``data`` of the answer; a withheld figure is null, with its reason in ``withheld``. The deflated Sharpe ratio is
            withheld for a run that sealed no parameter search, because the other alphas of a catalogue are not counted here.

        Raises
        ------
        SettingsError
            When the window is not one of days.
        KindNotPublished
            When the run has other books, but not this one.
        SnapshotCorrupt
            When a file is missing or damaged.
        """
        from datasets.figure_data import read_luck  # noqa: PLC0415 - slow to load
        from datasets.figures.luck_evidence import LuckQuery  # noqa: PLC0415 - as above
        from datasets.figures.luck_trials import known_trials, with_deflated_sharpe  # noqa: PLC0415 - as above
        from datasets.figures.unavailable import MISSING_KIND, Unavailable  # noqa: PLC0415 - as above

        window = require_window(window)
        self.require_book(book)
        figures = read_luck(self, LuckQuery(book, window=window))
        unknown_trials = Unavailable(
            MISSING_KIND,
            "the run sealed neither trials nor values that show a search, and the other alphas of the catalogue, which the "
            "API counts instead, are not counted here",
        )
        return with_deflated_sharpe(
            figures, known_trials(figures, None, None, described=True, readable=unknown_trials)
        )

    def factor(self, column: str = "score") -> pd.Series:
        """Return a column of the cross-sections as a factor for alphalens.

        Parameters
        ----------
        column : str
            Column of numbers of the decisions.

        Returns
        -------
        pandas.Series
            Indexed by ``date`` and ``asset``, ascending, without nulls.

        Raises
        ------
        KindNotPublished
            When the run did not record the column.
        SettingsError
            When the column does not hold numbers, or pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 - only needed here
        except ImportError as error:
            raise SettingsError("a factor is a pandas series: install pandas") from error
        rows = self.read("decisions", ("date", "symbol", column))
        if not rows[column].dtype.is_numeric():
            raise SettingsError(f"{column!r} is not a column of numbers, so it cannot be a factor")
        rows = rows.drop_nulls().sort("date", "symbol")
        days = pd.DatetimeIndex(rows["date"].cast(pl.Datetime("ns")).to_numpy())
        index = pd.MultiIndex.from_arrays([days, rows["symbol"].to_list()], names=["date", "asset"])
        return pd.Series(rows[column].to_numpy(), index=index, name=column)

    def units(self) -> pl.DataFrame:
        """Return the type, unit and meaning of every column of the snapshot, as :func:`datasets.analysis.units.units`."""
        return units(self)
