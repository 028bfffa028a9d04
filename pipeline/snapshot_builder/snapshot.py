"""Build of one seal: check, derive, write, publish."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, datetime

import orjson
import polars as pl

from datasets.figures.series import Floats
from datasets.figures.signal import DeliveredSignal
from datasets.figures.unavailable import Unavailable
from datasets.integrity import check_manifest
from datasets.layout import DESCRIPTION, PROBE, figures_path
from datasets.manifest import FileEntry, Manifest, encode
from datasets.pointer import Pointer, make_pointer
from datasets.publication.past import with_history
from datasets.publication.pointers import is_current, refuse, served
from datasets.publication.publish import Publication
from datasets.sealed_weeks import SealedWeek, WeekDigests
from datasets.storage import Storage, open_storage
from pipeline.archive.exclusions import DEFAULT_EXCLUDE
from pipeline.archive.package import package
from pipeline.maths.ordering import ordered
from pipeline.maths.week_clock import WeeklyPanel
from pipeline.maths.weekly_digests import FillDigests, digest_decisions, seal_weeks
from pipeline.maths.weekly_signal import measured_decisions
from pipeline.notices import NoticeOutcome, in_declared_order, not_checked, previous_week_ic
from pipeline.notices.catalogue import catalogue_notices
from pipeline.notices.history import history_notices
from pipeline.reconciliation.figures import Figure, declared_and_figures
from pipeline.reconciliation.seal_figures import (
    figures_from,
    metrics_reproduced,
    with_reconciliation,
)
from pipeline.rule import Violation
from pipeline.rules import Report, check, judge
from pipeline.rules.registry import RULES
from pipeline.rules.report import rule_outcomes
from pipeline.seal import Seal
from pipeline.seal.signature import read_keys
from pipeline.snapshot_builder import in_parts, ledgers, research
from pipeline.snapshot_builder.build_result import BuildResult, Stages
from pipeline.snapshot_builder.weekly import (
    published_decisions,
    published_rebalances,
    weekly_tables,
)
from pipeline.snapshot_builder.write import SnapshotWriter
from schemas.errors import OtherFormat, SealRefused
from schemas.kinds import KINDS, REQUIRED_KINDS
from schemas.notices import NOTICE, NOTICES
from schemas.plurals import counted
from schemas.tables import TABLES
from schemas.version import schema_version


def build_seal(
    address: str,
    root: str | os.PathLike[str],
    *,
    force: bool = False,
    archives: str | None = None,
    exclude: Sequence[str] = DEFAULT_EXCLUDE,
    single_writer: bool = False,
    strict: bool = False,
    seal_keys: str | None = None,
    prices: str | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> BuildResult:
    """Check a seal and publish it as an immutable snapshot.

    Parameters
    ----------
    address
        The seal: a local folder or the URL of a supported store.
    root
        The datasets root to publish under.
    force
        Publish even if a later seal of the alpha is served or its pointer has another format, and rebuild a seal that is
        already served: damaged files are replaced by the same bytes; different bytes make another snapshot.
    archives
        Folder or URL of a supported store to deliver the source archive to; None keeps no archives. A failed delivery does
        not stop publication; the result gives the reason, and the next build tries again.
    exclude
        Patterns of source files to leave out of the archive.
    single_writer
        Whether the caller guarantees that no other command writes to the root.
    strict
        Whether to refuse a seal with warnings.
    seal_keys
        File with the public keys of teams (:func:`pipeline.seal.signature.read_keys`), one of which must have signed the seal;
        None if no signature is required.
    prices
        As in :func:`pipeline.rules.check`.
    on_stage
        Called with the name of each stage as it begins.

    Returns
    -------
    BuildResult
        ``changed`` is False if this seal is already served; then no file is written.

    Raises
    ------
    SealUnreadable
        When there is no seal at the address.
    SealRefused
        When a rule is broken; the served snapshot is unchanged.
    PublicationRefused
        When a later seal of the alpha is served, or this seal was rolled back, and `force` is False; or when the alpha is
        withdrawn.
    OtherFormat
        When the alpha's pointer has another format, and `force` is False.
    """
    stages = Stages(on_stage)
    keys = None if seal_keys is None else read_keys(seal_keys)
    storage = open_storage(root, single_writer=single_writer)
    with stages("open"):
        seal = Seal.open(address)
        current, earlier = _served(storage, seal, force=force)
    # The served snapshot was built with these declarations, so its figures are equal whatever library version wrote it.
    if current is not None and earlier is not None and is_current(current, seal.digest) and not force:
        with stages("archive"):
            archive = package(seal, storage, archives, exclude=exclude)
        return BuildResult(
            seal.alpha_id, current.snapshot, changed=False, seconds=stages.seconds, archive=archive
        )
    storage.require_safe_writers()  # before any work
    with stages("check"):
        report = check(seal, figures=False, keys=keys, prices=prices)
    _require_sound(seal, report.violations, report.warnings if strict else ())
    with Publication(storage, seal.alpha_id, earlier) as publication:
        written = _write_datasets(seal, report, publication, stages)
        warning = metrics_reproduced(written.figures)
        if warning is not None:
            report = replace(report, warnings=(*report.warnings, warning))
        _require_sound(seal, (), report.warnings if strict else ())
        with stages("notices"):
            notices = _notices(seal, storage, report, written)
        manifest = _manifest(seal, written, report, notices)
        with stages("publish"):
            manifest = with_history(
                storage, manifest, written.weeks, lambda history: history_notices(history).to_dict()
            )
            pointer = make_pointer(manifest, seal.description())
            published = publication.commit(manifest, pointer, force=force)
    with stages("archive"):
        archive = package(seal, storage, archives, exclude=exclude)
    return BuildResult(
        seal.alpha_id,
        published.snapshot,
        published.changed,
        len(written.files) + 1,
        sum(entry.bytes for entry in written.files),
        tuple(warning.to_dict() for warning in report.warnings),
        tuple(dict(notice) for notice in manifest.notices if notice["outcome"] == NOTICE),
        stages.seconds,
        archive,
    )


def _served(storage: Storage, seal: Seal, *, force: bool) -> tuple[Pointer | None, Manifest | None]:
    """Return the served pointer and manifest before a build; refuse a seal early if it would not be served.

    The pointer is None if there is none, or if it has another format and is to be replaced. The manifest is None if it is not
    the one that the pointer names.
    """
    try:
        current = served(storage, seal.alpha_id)
    except OtherFormat:
        if not force:
            raise
        current = None
    if current is None:
        return None, None
    refuse(current, seal.digest, schema_version(), seal.sealed_at, force=force)
    return current, check_manifest(storage, current)[0]


def _require_sound(seal: Seal, violations: Sequence[Violation], warnings: Sequence[Violation]) -> None:
    broken = [violation.to_dict() for violation in violations]
    broken += [warning.to_dict() | {"strict": True} for warning in warnings]
    if broken:
        raise SealRefused(
            f"{seal.address} breaks {counted(len(broken), 'rule')}; nothing was published", tuple(broken)
        )


@dataclass(frozen=True, slots=True)
class _Written:
    """Files and columns of a snapshot, with its reconciled figures and weeks."""

    files: list[FileEntry]
    columns: dict[str, tuple[str, ...]]
    figures: tuple[Figure, ...]
    weeks: dict[str, SealedWeek]
    weekly: pl.DataFrame | None
    delayed: Floats | None


def _write_datasets(seal: Seal, report: Report, publication: Publication, stages: Stages) -> _Written:
    """Write every dataset that the seal permits; free tables as soon as possible."""
    writer = SnapshotWriter(publication)
    weekly: Future[_Weekly] | None = None
    digests = digest_decisions(None)
    fills = FillDigests()
    with writer, ThreadPoolExecutor(1, thread_name_prefix="signal") as pool:
        decisions = None
        if seal.has("decisions"):
            with stages("decisions"):
                decisions = _write_decisions(seal, writer)
                digests = digest_decisions(decisions)
        if seal.has("rebalances"):
            with stages("signal quality"):
                writer.table("rebalances", published_rebalances(seal.table("rebalances"), decisions))
                if decisions is not None:
                    weekly = _submit_weekly(seal, decisions, pool)
        delivered = research.measure_signal(None, decisions, None)  # the reason, if no weeks are computed
        del decisions
        spans: dict[str, ledgers.Spans] = {}
        ledger: ledgers.Books = {}
        if seal.has("portfolio"):
            with stages("portfolio"):
                ledger = ledgers.published_portfolio(seal.table("portfolio"), seal.equity_basis)
                writer.by_book("portfolio", ledger)
                writer.by_book("equity_curve", ledgers.published_equity_curves(ledger))
                spans["portfolio"] = ledgers.spans(ledger, "portfolio")
        sides = research.empty_sides(ledger)
        observers = {"positions": sides.positions, "pnl": sides.pnl, "trades": fills.add}
        for kind, on_rows in observers.items():
            if seal.has(kind):
                with stages(kind):
                    spans[kind] = _write_books(seal, writer, kind, on_rows)
        trials = _write_trials(seal, writer, stages)
        if spans:
            writer.table("books", ledgers.published_books(spans))
        weeks = delayed = None
        if weekly is not None:
            with stages("signal quality"):
                tables, delayed, delivered = weekly.result()
                for name, figures_by_week in tables.items():
                    writer.table(name, figures_by_week)
                weeks = tables["weekly_signal"]
        with stages("reconcile"):
            figures = _write_metrics(seal, writer, weeks)
        with stages("research figures"):
            figures_by_family = {
                **research.book_figures(ledger, sides, seal.kinds),
                **research.signal_figures(delivered),
                **research.luck_figures(_evidence(ledger, weeks, trials), seal.alpha_id, seal.description()),
            }
        _write_documents(seal, report, figures_by_family, writer)
        with stages("write"):
            writer.finish()
    sealed_weeks = _sealed_weeks(seal, digests, fills, weeks)
    return _Written(writer.files, writer.columns, figures, sealed_weeks, weeks, delayed)


def _sealed_weeks(
    seal: Seal, digests: dict[date, WeekDigests], fills: FillDigests, weekly: pl.DataFrame | None
) -> dict[str, SealedWeek]:
    """Return the digests and IC of every week, for later seals; empty without a rebalance index."""
    if not seal.has("rebalances"):
        return {}
    return seal_weeks(seal.table("rebalances"), digests, fills if seal.has("trades") else None, weekly)


_Weekly = tuple[dict[str, pl.DataFrame], Floats | None, DeliveredSignal | Unavailable]
"""The weekly tables, the IC of the previous week's score if a notice needs it, and the delivered score."""


def _submit_weekly(seal: Seal, decisions: pl.DataFrame, pool: ThreadPoolExecutor) -> Future[_Weekly]:
    """Compute the weekly figures on a thread, because they mostly use one core; the books are derived at the same time."""
    rebalances = seal.table("rebalances")

    def measure() -> _Weekly:
        known = measured_decisions(decisions, seal.smoothing)
        columns = [name for name in ("score", "raw_score", "forward_return") if name in known.columns]
        panel = WeeklyPanel.of(rebalances, known, *columns)
        tables = weekly_tables(rebalances, known, panel)
        weeks = tables["weekly_signal"]
        delivered = research.measure_signal(weeks, decisions, tables.get("weekly_deciles"), panel)
        if isinstance(delivered, Unavailable):
            return tables, None, delivered
        return tables, previous_week_ic(weeks, lambda: delivered.ic_by_delay[1]), delivered

    weekly = pool.submit(measure)
    if seal.in_parts:
        weekly.result()  # so that the decisions are freed before the books are read
    return weekly


def _write_decisions(seal: Seal, writer: SnapshotWriter) -> pl.DataFrame:
    """Write the cross-sections; return them, or their columns for the weekly figures."""
    layout = in_parts.find_layout(seal, "decisions") if seal.in_parts else None
    if layout is not None:
        return in_parts.write_decisions(seal, writer, layout)
    decisions = published_decisions(ordered(seal.table("decisions"), ("date", "symbol")))
    seal.drop("decisions")
    writer.table("decisions", decisions)
    return decisions


def _write_books(
    seal: Seal, writer: SnapshotWriter, kind: str, on_rows: Callable[[str, pl.DataFrame], None]
) -> ledgers.Spans:
    """Write a table by book and return the span of each; call `on_rows` with the published rows of each book."""
    layout = in_parts.find_layout(seal, kind) if seal.in_parts else None
    if layout is not None:
        return in_parts.write_books(seal, writer, kind, layout, on_rows)
    rows = ledgers.published_by_name(kind, seal.table(kind))
    seal.drop(kind)
    writer.by_book(kind, rows)
    for book, own in rows.items():
        on_rows(book, own)
    return ledgers.spans(rows, kind)


def _write_trials(seal: Seal, writer: SnapshotWriter, stages: Stages) -> pl.DataFrame | None:
    """Write the returns of the trials and return them; None if the run sealed none."""
    if not seal.has("trials"):
        return None
    with stages("trials"):
        trials = ordered(seal.table("trials"), TABLES["trials"].sort)
        writer.table("trials", trials)
        seal.drop("trials")
    return trials


def _evidence(
    ledger: ledgers.Books, weeks: pl.DataFrame | None, trials: pl.DataFrame | None
) -> research.Tables:
    """Return the tables that the luck figures need."""
    tables = {"weekly_signal": weeks, "trials": trials}
    rows: dict[tuple[str, str | None], pl.DataFrame] = {("portfolio", book): x for book, x in ledger.items()}
    return research.Tables(rows | {(name, None): x for name, x in tables.items() if x is not None})


def _write_metrics(seal: Seal, writer: SnapshotWriter, weeks: pl.DataFrame | None) -> tuple[Figure, ...]:
    """Write the run's own figures beside the recomputed ones."""
    records = seal.metrics()
    if records is None:
        return ()
    ordered_records = records.sort("scope", "period", "name", nulls_last=True)
    figures = figures_from(ordered_records, weeks, seal.optional_table("portfolio"), seal.equity_basis)
    writer.table("sealed_metrics", with_reconciliation(ordered_records, figures))
    return figures


def _write_documents(
    seal: Seal, report: Report, figures_by_family: Mapping[str, research.Document], writer: SnapshotWriter
) -> None:
    description = seal.description()
    if description is not None:
        writer.document(DESCRIPTION, "description", encode(description))
    for family, document in figures_by_family.items():
        path = figures_path(family)
        writer.document(path, path, orjson.dumps(document))
    if report.evidence is not None:
        writer.document(PROBE, "probe", report.evidence.probe.encode())


def _notices(seal: Seal, storage: Storage, report: Report, written: _Written) -> tuple[NoticeOutcome, ...]:
    """Collect the notices on the run and those from the comparison with other served runs."""
    if report.evidence is None:
        return tuple(not_checked(notice, "the rows were not examined") for notice in NOTICES)
    own = judge(
        seal,
        report.evidence,
        report.coverage,
        weeks=written.weekly,
        delayed=written.delayed,
        figures=written.figures,
    )
    return in_declared_order((*own, *catalogue_notices(storage, seal.alpha_id, report.evidence.probe)))


def _manifest(seal: Seal, written: _Written, report: Report, notices: tuple[NoticeOutcome, ...]) -> Manifest:
    return Manifest(
        schema_version=schema_version(),
        alpha_id=seal.alpha_id,
        source_alpha_id=seal.source_alpha_id,
        snapshot="",  # computed from these fields at publication
        seal_digest=seal.digest,
        started_at=_instant(seal.started_at),
        sealed_at=_instant(seal.sealed_at),
        equity_basis=seal.equity_basis,
        smoothing=dict(seal.smoothing) if seal.smoothing is not None else None,
        engine=dict(seal.engine),
        sealed_by=report.sealed_by,
        kinds=tuple(kind for kind in KINDS if seal.has(kind)),
        missing=tuple(kind for kind in REQUIRED_KINDS if not seal.has(kind)),
        columns=written.columns,
        files=tuple(written.files),
        warnings=tuple(warning.to_dict() for warning in report.warnings),
        rules=tuple(RULES),
        built_with={"polars": pl.__version__},
        reconciliation=declared_and_figures(report.declared, written.figures, adjusted=report.adjusted),
        checks=rule_outcomes(report, seal.kinds),
        notices=tuple(notice.to_dict() for notice in notices),
    )


def _instant(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
