"""Derivation and writing of the tables and documents of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, TypeAlias

import orjson
import polars as pl

from datasets.figure_data import dates_of
from datasets.layout import DESCRIPTION, figures_path
from datasets.manifest import encode
from datasets.provenance.sealed_weeks import SealedWeek
from pipeline.maths.ordering import ordered
from pipeline.maths.weekly_digests import FillDigests, digest_decisions, seal_weeks
from pipeline.maths.weekly_signal import measured_decisions
from pipeline.reconciliation.figures import Figure, reconcile
from pipeline.reconciliation.seal_figures import with_reconciliation
from pipeline.seal import Seal
from pipeline.seal.records import METRICS
from pipeline.seal.tables import empty_table
from pipeline.snapshot_builder import in_parts, ledgers, research
from pipeline.snapshot_builder.build_result import Stages
from pipeline.snapshot_builder.by_side import BySide
from pipeline.snapshot_builder.weekly import published_decisions, published_rebalances, weekly_tables
from pipeline.snapshot_builder.write import SnapshotWriter
from schemas.tables import SEALED_TABLES, TABLES
from schemas.tables.books import BOOK_KINDS


@dataclass
class RestoredRun:
    """A sealed run, restored from its snapshot; its methods are those of a seal.

    Attributes
    ----------
    alpha_id, equity_basis, smoothing, kinds
        As published in the manifest.
    tables
        Kind -> its sealed columns.
    document
        The description; None if the run sealed none.
    """

    alpha_id: str
    equity_basis: float
    smoothing: Mapping[str, Any] | None
    kinds: Collection[str]
    tables: Mapping[str, pl.DataFrame]
    document: dict[str, Any] | None

    def has(self, kind: str) -> bool:
        """Return whether the run sealed this kind."""
        return kind in self.kinds

    def table(self, kind: str) -> pl.DataFrame:
        """Return a table; no file is published of one by book without rows."""
        return self.tables[kind] if kind in self.tables else empty_table(SEALED_TABLES[kind])

    def metrics(self) -> pl.DataFrame | None:
        """Return the run's own figures; None if it sealed none."""
        return self.tables.get(METRICS.name)

    def description(self) -> dict[str, Any] | None:
        """Return the description; None if the run sealed none."""
        return self.document

    def drop(self, kind: str) -> None:
        """Keep the table."""


SealedRun: TypeAlias = Seal | RestoredRun


@dataclass(frozen=True, slots=True)
class Written:
    """What a manifest and the notices need of the written datasets.

    Attributes
    ----------
    figures
        The run's own figures, reconciled.
    sealed_weeks
        Week -> its digests and IC, for later seals.
    weekly_signal
        The published table; None without cross-sections or rebalance index.
    """

    figures: tuple[Figure, ...]
    sealed_weeks: dict[str, SealedWeek]
    weekly_signal: pl.DataFrame | None


def write_datasets(seal: SealedRun, writer: SnapshotWriter, stages: Stages) -> Written:
    """Write every dataset that the seal permits; free tables as soon as possible."""
    signal_tables: dict[str, pl.DataFrame] = {}
    decisions: pl.DataFrame | None = None
    digests: dict[date, SealedWeek] = {}
    fills = FillDigests()
    if seal.has("decisions"):
        with stages("decisions"):
            decisions = _write_decisions(seal, writer)
            digests = digest_decisions(decisions)
    if seal.has("rebalances"):
        with stages("signal quality"):
            writer.table("rebalances", published_rebalances(seal.table("rebalances"), decisions))
            if decisions is not None:
                signal_tables = weekly_tables(
                    seal.table("rebalances"), measured_decisions(decisions, seal.smoothing)
                )
    weekly_signal, deciles = (signal_tables.get(name) for name in ("weekly_signal", "weekly_deciles"))
    with stages("research figures"):
        delivered = research.measure_signal(weekly_signal, decisions, deciles)
    del decisions
    ledger: ledgers.Books = {}
    if seal.has("portfolio"):
        with stages("portfolio"):
            ledger = ledgers.published_portfolio(seal.table("portfolio"), seal.equity_basis)
            writer.by_book("portfolio", ledger)
            writer.by_book("equity_curve", ledgers.published_equity_curves(ledger))
    sides = {book: BySide(dates_of(rows)) for book, rows in ledger.items()}
    for kind in ("positions", "pnl", "trades"):
        if seal.has(kind):
            with stages(kind):
                _write_books(seal, writer, kind, partial(_add_up, sides, fills, kind))
    trials = _write_trials(seal, writer, stages)
    if any(map(seal.has, BOOK_KINDS)):
        writer.table("books", ledgers.published_books(writer.spans))
    for name, rows in signal_tables.items():
        writer.table(name, rows)
    with stages("reconcile"):
        figures = _write_metrics(seal, writer, weekly_signal)
    with stages("research figures"):
        figures_by_family = {
            **research.book_figures(ledger, sides, seal.kinds),
            **research.signal_figures(delivered),
            **research.luck_figures(ledger, weekly_signal, trials, seal.alpha_id, seal.description()),
        }
    _write_documents(seal, figures_by_family, writer)
    sealed_weeks: dict[str, SealedWeek] = {}
    if seal.has("rebalances"):
        own_fills = fills if seal.has("trades") else None
        sealed_weeks = seal_weeks(seal.table("rebalances"), digests, own_fills, weekly_signal)
    return Written(figures, sealed_weeks, weekly_signal)


def _write_decisions(seal: SealedRun, writer: SnapshotWriter) -> pl.DataFrame:
    """Write the cross-sections; return them, or their columns for the weekly figures."""
    if isinstance(seal, Seal) and seal.in_parts and (layout := in_parts.find_layout(seal, "decisions")):
        return in_parts.write_decisions(seal, writer, layout)
    decisions = published_decisions(ordered(seal.table("decisions"), ("date", "symbol")))
    seal.drop("decisions")
    writer.table("decisions", decisions)
    return decisions


def _write_books(
    seal: SealedRun, writer: SnapshotWriter, kind: str, on_rows: Callable[[str, pl.DataFrame], None]
) -> None:
    """Write a table by book; call `on_rows` with the published rows of each book."""
    if isinstance(seal, Seal) and seal.in_parts and (layout := in_parts.find_layout(seal, kind)):
        in_parts.write_books(seal, writer, kind, layout, on_rows)
        return
    tables = ledgers.published_by_name(kind, seal.table(kind))
    seal.drop(kind)
    writer.by_book(kind, tables)
    for book, rows in tables.items():
        on_rows(book, rows)


def _add_up(
    sides: Mapping[str, BySide], fills: FillDigests, kind: str, book: str, rows: pl.DataFrame
) -> None:
    """Add published rows of a book to its sums by side, or to the digests of its fills."""
    if kind == "trades":
        fills.add(book, rows)
    elif book in sides and kind == "positions":
        sides[book].add_positions(rows)
    elif book in sides:
        sides[book].add_pnl(rows)


def _write_trials(seal: SealedRun, writer: SnapshotWriter, stages: Stages) -> pl.DataFrame | None:
    """Write the returns of the trials and return them; None if the run sealed none."""
    if not seal.has("trials"):
        return None
    with stages("trials"):
        trials = ordered(seal.table("trials"), TABLES["trials"].sort)
        writer.table("trials", trials)
        seal.drop("trials")
    return trials


def _write_metrics(seal: SealedRun, writer: SnapshotWriter, weeks: pl.DataFrame | None) -> tuple[Figure, ...]:
    """Write the run's own figures along with the recomputed ones."""
    records = seal.metrics()
    if records is None:
        return ()
    ordered_records = records.sort("scope", "period", "name", nulls_last=True)
    portfolio = seal.table("portfolio") if seal.has("portfolio") else None
    figures = reconcile(ordered_records, weeks, portfolio, seal.equity_basis)
    writer.table("sealed_metrics", with_reconciliation(ordered_records, figures))
    return figures


def _write_documents(
    seal: SealedRun, figures_by_family: Mapping[str, research.Document], writer: SnapshotWriter
) -> None:
    description = seal.description()
    if description is not None:
        writer.document(DESCRIPTION, "description", encode(description))
    for family, document in figures_by_family.items():
        path = figures_path(family)
        writer.document(path, path, orjson.dumps(document))
