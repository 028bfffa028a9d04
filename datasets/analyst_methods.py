"""What a snapshot is asked for its analysis; each method loads what it needs when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import polars as pl

if TYPE_CHECKING:
    import datetime as dt
    import os

    import pandas as pd

    from datasets.snapshot import Snapshot


class AnalystMethods:
    """Returns, a benchmark, a factor, units and figures of the snapshot that has these methods."""

    @property
    def _snapshot(self) -> Snapshot:
        return cast("Snapshot", self)

    def metrics(
        self,
        *,
        first: dt.date | None = None,
        last: dt.date | None = None,
        granularity: str = "overall",
        panel: bool = False,
    ) -> dict[str, Any]:
        """Return the figures of the run, as `/v1/alphas/{alpha}/metrics` answers with the same parameters.

        Parameters
        ----------
        first, last
            Days of the block ``within_window`` and of what else narrows; None leaves that end open.
        granularity
            ``overall``, ``yearly`` or ``monthly``.
        panel
            Whether the weekly panel is wanted.

        Returns
        -------
        dict
            The ``data`` of the answer, and under ``warnings`` what its ``meta.warnings`` says. A figure that cannot be given
            is null, with its reason.

        Raises
        ------
        SettingsError
            When there is no such granularity, or the first day is after the last.
        SnapshotCorrupt
            When a file that the figures come from is gone or damaged.
        """
        from datasets import analysis  # noqa: PLC0415 - for analysts alone

        return analysis.metrics(self._snapshot, first, last, granularity, panel=panel)

    def audit(self) -> pl.DataFrame:
        """Return what was checked of the run and what came of it, as `/v1/alphas/{alpha}/audit` lists it.

        Returns
        -------
        polars.DataFrame
            One row a check, the weightiest first: kind, id, status (withheld, notice, not_checked or pass), figure, value,
            threshold, unit, reason, and further details as JSON text. Those of raw columns and of other alphas are among them.

        Raises
        ------
        SnapshotCorrupt
            When the manifest is gone or damaged.
        """
        from datasets import analysis  # noqa: PLC0415 - for analysts alone

        return analysis.audit(self._snapshot)

    def returns(self, book: str = "long_short") -> pl.DataFrame:
        """Return `date` and `period_return` of a book, one row a session.

        Raises
        ------
        KindNotPublished
            When the snapshot has no such book.
        """
        from datasets import analysis  # noqa: PLC0415 - for analysts alone

        return analysis.returns(self._snapshot, book)

    def benchmark(
        self,
        market_data: str | os.PathLike[str] | None = None,
        *,
        symbol: str = "SPY",
        book: str = "long_short",
    ) -> pl.DataFrame:
        """Return a benchmark over the sessions of a book: close, return, compounded return and drawdown.

        It counts from its close before the book's first session, as the book counts from the equity it opened with. Where the
        market data hold no close before it, the first return is null and the benchmark counts from that session's close.

        Parameters
        ----------
        market_data
            A Parquet file or a folder of them; None for what the setting of that name says.
        symbol
            Which of its series.
        book
            Whose sessions.

        Raises
        ------
        SettingsError
            When there is no such series.
        KindNotPublished
            When the snapshot has no such book.
        """
        from datasets import analysis  # noqa: PLC0415 - as above

        return analysis.prices(self._snapshot, market_data, symbol, book).curve

    def factor(self, column: str = "score") -> pd.Series:
        """Return a column of the cross-sections as alphalens takes a factor: by `date` and `asset`, without nulls.

        Raises
        ------
        KindNotPublished
            When the run recorded no such column.
        SettingsError
            When pandas is not installed.
        """
        from datasets import analysis  # noqa: PLC0415 - as above

        return analysis.factor(self._snapshot, column)

    def units(self) -> pl.DataFrame:
        """Return table, column, type, unit and meaning of every column the snapshot has."""
        from datasets import analysis  # noqa: PLC0415 - as above

        return analysis.units(self._snapshot)
