"""Read the inputs of a snapshot's figures, with any engine that reads its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

import polars as pl

from datasets.figures.checks import CheckSummary, forward_returns_proven, named_alphas
from datasets.figures.luck import LUCK, Luck, measure
from datasets.figures.luck_evidence import EVIDENCE_ENDPOINTS, NO_TRIALS, Evidence, LuckQuery, TrialReturns
from datasets.figures.luck_trials import searched_combinations
from datasets.figures.panel import WeeklyDeciles
from datasets.figures.run_figures import CrossSections, Index, Ledger, RawSignal, RunFigures
from datasets.figures.sealed_records import SealedMetrics, SealedRecord
from datasets.figures.series import FULL_HISTORY, Dates, Floats
from datasets.figures.statistics import checked, stated_value
from datasets.figures.unavailable import MISSING_KIND, Unavailable, unreadable
from datasets.manifest import Manifest
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt
from schemas.metrics.core import STATISTICS
from schemas.metrics.deciles import BUCKET_MEANS
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER, SCORE_FIELD, UNSMOOTHED_FIELD, Checked
from schemas.notices.notice import NOTICE
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.tables.rebalances import PENDING, TRADED
from schemas.tables.weekly_signal import HORIZONS, LAGS

Part = TypeVar("Part")


class ReadTable(Protocol):
    """Reads all rows of one published file, in stored order."""

    def __call__(self, dataset: str, columns: Sequence[str], book: str | None = None) -> pl.DataFrame:
        """Return columns of a dataset, or of one of its books; raises SnapshotCorrupt for an unreadable file."""
        ...


BOOK: Final = CONDITIONED_BOOKS[0]
"""The book that the metrics are computed from."""
_RECORD: Final = (
    *("scope", "period", "name", "value", "unit", "source_kind", "annualised"),
    *("reconciliation", "convention"),
)
_LEDGER: Final = ("date", "starting_equity", "ending_equity", "risk_free_return", "turnover")


def _raise(error: SnapshotCorrupt) -> None:
    raise error


def read_figures(snapshot: Snapshot, on_unreadable: Callable[[SnapshotCorrupt], None] = _raise) -> RunFigures:
    """Read the inputs of the figures of a published snapshot, as :func:`read`."""
    return read(snapshot.read, snapshot.manifest, on_unreadable)


def read(
    read_table: ReadTable, manifest: Manifest, on_unreadable: Callable[[SnapshotCorrupt], None] = _raise
) -> RunFigures:
    """Read the inputs of the figures of a published or new snapshot: a few thousand small rows.

    Parameters
    ----------
    read_table : ReadTable
        Reads the files.
    manifest : Manifest
        Manifest of the snapshot.
    on_unreadable : Callable[[SnapshotCorrupt], None]
        Called when the file of a part is missing or cannot be read. Unless it raises, as the default does, the part is
        Unavailable.

    Returns
    -------
    RunFigures
        Inputs of the complete run.

    Raises
    ------
    SnapshotCorrupt
        When every part is missing or cannot be read.
    """
    errors: list[SnapshotCorrupt] = []
    published = {(entry.dataset, entry.book) for entry in manifest.files}

    def part(
        read_part: Callable[[], Part], kind: str, dataset: str, book: str | None = None
    ) -> Part | Unavailable | None:
        if (dataset, book) not in published:
            return None
        try:
            return read_part()
        except SnapshotCorrupt as error:
            on_unreadable(error)
            errors.append(error)
            return unreadable(kind)

    sections = part(lambda: _cross_sections(read_table, manifest), "decisions", "weekly_signal")
    sealed = part(lambda: _sealed(read_table), "metrics", "sealed_metrics")
    index: Index | Unavailable | None
    if isinstance(sections, CrossSections):
        # The weekly figures have a row for every rebalance date, so the rebalance index need not be read.
        index = Index(sections.date, sections.traded)
    else:
        index = part(lambda: _index(read_table), "rebalances", "rebalances")
    deciles = part(lambda: _deciles(read_table, manifest), "decisions", "weekly_deciles")
    ledger = part(lambda: _ledger(read_table("portfolio", _LEDGER, BOOK)), "portfolio", "portfolio", BOOK)
    if errors and all(
        x is None or isinstance(x, Unavailable) for x in (sections, sealed, index, deciles, ledger)
    ):
        raise errors[0]
    return RunFigures(
        alpha_id=manifest.alpha_id,
        source_alpha_id=manifest.source_alpha_id,
        equity_basis=manifest.equity_basis,
        smoothing=manifest.smoothing,
        kinds=frozenset(manifest.kinds),
        sealed=sealed,
        index=index,
        cross_sections=sections,
        deciles=deciles,
        ledger=ledger,
        score_field=SCORE_FIELD if SCORE_FIELD in manifest.columns.get("decisions", ()) else UNSMOOTHED_FIELD,
        checked=None if isinstance(sealed, Unavailable) else _check_summary(manifest, sealed),
    )


def read_check_summary(snapshot: Snapshot) -> CheckSummary | None:
    """Read the check summary of a run, from its manifest and its sealed figures.

    Parameters
    ----------
    snapshot : Snapshot
        A published snapshot.

    Returns
    -------
    CheckSummary or None
        None when the build recorded no checks.

    Raises
    ------
    SnapshotCorrupt
        When the file of the sealed figures is missing or cannot be read.
    """
    sealed = _sealed(snapshot.read) if snapshot.has("sealed_metrics") else None
    return _check_summary(snapshot.manifest, sealed)


def _check_summary(manifest: Manifest, sealed: SealedMetrics | None) -> CheckSummary | None:
    """Summarise the checks that the build recorded; None if it recorded none."""
    if not manifest.checks:
        return None
    records = (sealed or {}).get(("overall", None), {})
    stated = [stated_value(statistic, records) for statistic in STATISTICS]
    outcomes = [checked(*record) for record in stated if record is not None]
    noticed = [
        (bool(notice["raw"]), named_alphas(notice))
        for notice in manifest.notices
        if notice["outcome"] == NOTICE
    ]
    limited = tuple((raw, names) for raw, names in noticed if raw or names)
    return CheckSummary(
        outcomes.count(Checked.REPRODUCED),
        outcomes.count(Checked.STATED),
        outcomes.count(Checked.CONTRADICTED),
        forward_returns_proven(manifest.checks),
        len(noticed) - len(limited),
        limited,
    )


def _sealed(read_table: ReadTable) -> SealedMetrics:
    spans: dict[tuple[str, str | None], dict[str, SealedRecord]] = {}
    for scope, period, *fields in read_table("sealed_metrics", _RECORD).iter_rows():
        record = SealedRecord(*fields)
        spans.setdefault((scope, period), {})[record.name] = record
    return spans


def _index(read_table: ReadTable) -> Index:
    weeks = read_table("rebalances", ("date", "week_status"))
    return Index(dates_of(weeks), (weeks["week_status"] == TRADED).to_numpy())


def _cross_sections(read_table: ReadTable, manifest: Manifest) -> CrossSections:
    weeks = read_table("weekly_signal", manifest.columns["weekly_signal"])
    raw = None
    if "raw_ic" in weeks.columns:
        raw = RawSignal(
            ic=floats_of(weeks, "raw_ic"),
            n_return_obs=floats_of(weeks, "n_return_obs_raw"),
            decile_spread=floats_of(weeks, "decile_spread"),
            ic_by_horizon={horizon: floats_of(weeks, f"ic_h{horizon}") for horizon in HORIZONS},
            rho_by_lag={lag: floats_of(weeks, f"rho_lag{lag}") for lag in LAGS},
            cohort_size=floats_of(weeks, "cohort_size_raw"),
        )
    return CrossSections(
        date=dates_of(weeks),
        traded=(weeks["week_status"] == TRADED).to_numpy(),
        in_force=weeks["week_status"].is_in([TRADED, PENDING]).to_numpy(),
        n_symbols=floats_of(weeks, "n_symbols"),
        cohort_size=floats_of(weeks, "cohort_size"),
        n_return_obs=floats_of(weeks, "n_return_obs"),
        ic=floats_of(weeks, "ic"),
        raw=raw,
    )


def _deciles(read_table: ReadTable, manifest: Manifest) -> WeeklyDeciles:
    rows = read_table("weekly_deciles", manifest.columns["weekly_deciles"])
    bucket, n_symbols, n_return_obs = (
        rows[name].to_numpy() for name in ("bucket", "n_symbols", "n_return_obs")
    )
    means = {name: floats_of(rows, name) for name in BUCKET_MEANS}
    return WeeklyDeciles(
        date=dates_of(rows), bucket=bucket, n_symbols=n_symbols, n_return_obs=n_return_obs, **means
    )


def _ledger(rows: pl.DataFrame) -> Ledger:
    return Ledger(dates_of(rows), *(floats_of(rows, name) for name in _LEDGER[1:]))


def ledger_of(rows: pl.DataFrame | None) -> Ledger | Unavailable:
    """Return the daily ledger of a book.

    Parameters
    ----------
    rows : polars.DataFrame or None
        Published ``portfolio`` of the book; None when the run has none.

    Returns
    -------
    Ledger or Unavailable
        Ascending by date, NaN for null; ``missing_kind`` when the run sealed no ledger, or one without sessions.
    """
    if rows is None or rows.is_empty():
        return Unavailable(MISSING_KIND, f"the run holds no {LEDGER.kind} of this book", LEDGER.kind)
    return _ledger(rows)


def weekly_ic_of(weeks: pl.DataFrame | None) -> tuple[Dates, Floats] | Unavailable:
    """Return the rebalance dates and the weekly rank IC.

    Parameters
    ----------
    weeks : polars.DataFrame or None
        Published ``weekly_signal``; None when the run has none.

    Returns
    -------
    tuple of (Dates, Floats), each of shape (n_weeks,), or Unavailable
        Ascending by date, NaN for null; ``missing_kind`` when the run sealed no cross-sections.
    """
    if weeks is None:
        kind, meaning = CROSS_SECTIONS.kind, CROSS_SECTIONS.meaning
        return Unavailable(MISSING_KIND, f"the run holds no {kind} for {meaning}", kind)
    return dates_of(weeks), floats_of(weeks, "ic")


def trials_of(rows: pl.DataFrame | None) -> TrialReturns | Unavailable:
    """Return the returns of the trials.

    Parameters
    ----------
    rows : polars.DataFrame or None
        Published ``trials``; None when the run has none.

    Returns
    -------
    TrialReturns or Unavailable
        :data:`~datasets.figures.luck_evidence.NO_TRIALS` without trials.
    """
    if rows is None or rows.is_empty():
        return NO_TRIALS
    trials = rows["trial"].n_unique()
    if rows.height % trials:  # trials with different days, which the rule `trials.days` refuses
        return NO_TRIALS
    # Rows are sorted by trial and day, and every trial has the same days.
    days = dates_of(rows.head(rows.height // trials))
    return TrialReturns(days, rows["period_return"].to_numpy().reshape(trials, days.size).T)


def _optional(
    snapshot: Snapshot, dataset: str, columns: Sequence[str], book: str | None = None
) -> pl.DataFrame | None:
    return snapshot.read(dataset, columns, book) if snapshot.has(dataset, book) else None


def read_ledger(snapshot: Snapshot, book: str) -> Ledger | Unavailable:
    """Read the daily ledger of a book, as :func:`ledger_of`; raises SnapshotCorrupt when its file cannot be read."""
    return ledger_of(_optional(snapshot, LEDGER.kind, _LEDGER, book))


def read_weekly_ic(snapshot: Snapshot) -> tuple[Dates, Floats] | Unavailable:
    """Read the weekly rank IC, as :func:`weekly_ic_of`; raises SnapshotCorrupt when its file cannot be read."""
    return weekly_ic_of(_optional(snapshot, "weekly_signal", ("date", "ic")))


def dates_of(rows: pl.DataFrame) -> Dates:
    """Return the column ``date`` as days."""
    return rows["date"].to_numpy().astype("datetime64[D]")


def floats_of(rows: pl.DataFrame, column: str) -> Floats:
    """Return a numeric column; a null is NaN."""
    return rows[column].cast(pl.Float64).to_numpy()


def read_luck(snapshot: Snapshot, query: LuckQuery) -> Luck:
    """Return the luck figures of a run, stored at publication or computed for a window, a raw book, or a restricted key.

    Parameters
    ----------
    snapshot : Snapshot
        A published snapshot.
    query : LuckQuery
        Parameters of the request, and permissions of the key.

    Returns
    -------
    Luck
        As :func:`datasets.figures.luck.measure`.

    Raises
    ------
    SnapshotCorrupt
        When a file is missing or cannot be read.
    """
    if query.window == FULL_HISTORY and query.may_call >= EVIDENCE_ENDPOINTS:
        stored = (snapshot.figures(LUCK) or {}).get(query.book)
        if stored is not None:
            return Luck.decode(stored)
    return measure(read_evidence(snapshot, query.book), query)


def read_evidence(snapshot: Snapshot, book: str) -> Evidence:
    """Read the inputs of the luck figures of the complete run; raises SnapshotCorrupt when a file cannot be read."""
    return Evidence(
        snapshot.alpha_id,
        read_ledger(snapshot, book),
        read_weekly_ic(snapshot),
        searched_combinations((snapshot.description() or {}).get("parameters")),
        trials_of(_optional(snapshot, "trials", ("trial", "date", "period_return"))),
    )
