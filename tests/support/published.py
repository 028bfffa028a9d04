"""Publishes small hand-made frames with special cases."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from datasets.layout import DESCRIPTION, table_path
from datasets.manifest import FileEntry, Manifest, digest, encode
from datasets.publication.pointers import Published
from datasets.publication.publish import Publication
from datasets.storage import Storage, open_storage
from datasets.storage.file_digests import file_digest
from schemas.arrow import stored_schema
from schemas.kinds import REQUIRED_KINDS
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import BOOK_KINDS, book_order
from schemas.version import schema_version

ALPHA = "Test_hand"
SOURCE = "research-hand"
NAMES = tuple("ABCDEFGHIJKLM")
WEEKS = {
    dt.date(2020, 1, 3): "traded",
    dt.date(2020, 1, 10): "constant_scores",
    dt.date(2020, 1, 17): "traded",
    dt.date(2020, 1, 24): "pending",
}
SESSIONS = tuple(dt.date(2020, 1, 6) + dt.timedelta(days=n) for n in (0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15))
BOOKS = ("long_short", "long_only", "raw_long_short", "raw_long_only")
VARIANTS = tuple(f"{book}{suffix}" for book in BOOKS for suffix in ("_adjustments", "_settlements"))

NAMED = ("snapshot", "published_at")
"""Members of the meta of every answer about a run that these tests do not check."""

type_kinds = Mapping[str, pl.DataFrame | Mapping[str, pl.DataFrame]]


def rebalances() -> pl.DataFrame:
    """Four weeks: one skipped, without decisions, and a pending one at the end."""
    counts = [0 if status == "constant_scores" else len(NAMES) for status in WEEKS.values()]
    return pl.DataFrame({"date": list(WEEKS), "week_status": list(WEEKS.values()), "n_symbols": counts})


def decisions(*, drift: float = 0.0) -> pl.DataFrame:
    """Ties, a zero, a name without score, a name that cannot be traded; no entry_at, maturity_at nor reasons."""
    draw = random.Random(7)
    rows = []
    for week, status in WEEKS.items():
        if status == "constant_scores":
            continue
        scores: list[float | None] = [round(draw.uniform(-2, 2), 3) + drift for _ in NAMES]
        scores[3], scores[4], scores[5], scores[6] = scores[2], 0.0, None, None
        for name, score in zip(NAMES, scores, strict=True):
            held = name in "ABC" and status != "pending"
            fill = dt.datetime(2020, 1, 6, 14, 30, 0, 250_000 if name == "A" else 0, tzinfo=dt.UTC)
            tradeable = name != "M"
            rows.append(
                {
                    "date": week,
                    "symbol": name,
                    "direction": None if score is None else (score > 0) - (score < 0),
                    "confidence": None if score is None else abs(score),
                    "score": score,
                    "raw_score": None if score is None else score * 2,
                    "score_z": score,
                    "average_rank": None if score is None else draw.uniform(1, 11),
                    "cohort_size": len(NAMES) - 2,
                    "long_short_target_weight": (0.25 if name == "A" else -0.125) if held else 0.0,
                    "long_only_target_weight": 1.0 if held and name == "B" else 0.0,
                    "next_open_tradeable": tradeable,
                    "fill_at": fill if held else None,
                    "forward_return": None if status == "pending" or name == "D" else draw.gauss(0, 0.02),
                    "unavailability_reason": None if tradeable else "halted",
                    "raw_direction": None if score is None else (score > 0) - (score < 0),
                    "raw_fill_at": fill if held else None,
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def ledger(book: str) -> pl.DataFrame:
    """A book that rises, falls and has one session that opens with zero equity."""
    draw = random.Random(book)
    equity, rows = 1.0, []
    for n, day in enumerate(SESSIONS):
        start, end = equity, equity * (1 + draw.gauss(0, 0.03))
        equity = end
        row = {
            column.name: float(n)
            for column in PUBLISHED_TABLES["portfolio"].stored_columns
            if column.type.value == "double"
        }
        rows.append(
            {
                "date": day,
                "timestamp": dt.datetime.combine(day, dt.time(21), dt.UTC),
                **row,
                "starting_equity": start,
                "ending_equity": end,
            }
        )
    return pl.DataFrame(rows)


def positions(book: str) -> pl.DataFrame:
    """Three names per session."""
    draw = random.Random(book)
    rows = [
        {
            "date": day,
            "symbol": name,
            "quantity": draw.uniform(-5, 5),
            "mark_price": draw.uniform(1, 9),
            "signed_notional": draw.uniform(-9, 9),
            "weight": draw.uniform(-1, 1),
        }
        for day in SESSIONS
        for name in "ABC"
    ]
    return pl.DataFrame(rows)


def pnl(book: str) -> pl.DataFrame:
    """Two names per session."""
    draw = random.Random(book)
    columns = ("market_pnl", "execution_cost", "borrow_cashflow", "net_pnl")
    rows = [
        {"date": day, "symbol": name} | {column: -draw.random() for column in columns}
        for day in SESSIONS
        for name in "AB"
    ]
    return pl.DataFrame(rows)


def trades(_: str) -> pl.DataFrame:
    """Fills on three days; two of one instant and name keep their sealed order."""
    rows: list[dict[str, Any]] = []
    for day in SESSIONS[::5]:
        for name in ("A", "A", "B"):
            rows.append(
                {
                    "timestamp": dt.datetime.combine(day, dt.time(14, 30), dt.UTC),
                    "decision_at": day - dt.timedelta(days=3),
                    "symbol": name,
                    "phase": "open",
                    "quantity": float(len(rows) + 1),
                    "mid_price": 2.0,
                    "fill_price": 2.5,
                    "fee": 0.0,
                    "execution_cost": 1e-7,
                    "rebalance_adjustment_reason": "entry",
                    "exit_reason": None,
                    "fill_order": len(rows),
                }
            )
    # The last instant of a day belongs to that day only.
    rows[-1]["timestamp"] = rows[-1]["timestamp"].replace(hour=23, minute=59, second=59, microsecond=999_999)
    return pl.DataFrame(rows, schema_overrides={"exit_reason": pl.String})


def full() -> dict[str, pl.DataFrame | dict[str, pl.DataFrame]]:
    """Every published table that these endpoints read."""
    return {
        "rebalances": rebalances(),
        "decisions": decisions(),
        "portfolio": {book: ledger(book) for book in BOOKS},
        "positions": {book: positions(book) for book in BOOKS},
        "pnl": {book: pnl(book) for book in BOOKS},
        "trades": {book: trades(book) for book in (*BOOKS, *VARIANTS)},
    }


def publish_below(parent: Path) -> Path:
    """Publish the hand-made run into a new root in a folder, and return the root."""
    folder = parent / "published"
    folder.mkdir()
    publish(folder, full())
    return folder


def publish(
    root: Path | str | Storage,
    kinds: type_kinds,
    *,
    alpha_id: str = ALPHA,
    description: Mapping[str, Any] | None = None,
    started_at: str = "2026-01-05T06:00:00Z",
    sealed_at: str = "2026-01-05T07:30:00Z",
    name: str | None = None,
    tldr: str | None = None,
    mark: str = "",
    force: bool = False,
) -> Published:
    """Publish given tables; `mark` distinguishes builds of equal content."""
    storage = root if isinstance(root, Storage) else open_storage(root)
    tables = {**kinds, **_books(kinds)}
    seal = f"{alpha_id} {mark} {sealed_at} {sorted(tables)} {description}"
    missing = tuple(kind for kind in REQUIRED_KINDS if kind not in kinds)
    with Publication(storage, alpha_id) as publication:
        files, columns = _write(publication.folder, tables)
        if description is not None:
            (publication.folder / DESCRIPTION).write_bytes(encode(dict(description)))
            files.append(
                FileEntry(
                    DESCRIPTION,
                    "description",
                    None,
                    0,
                    (publication.folder / DESCRIPTION).stat().st_size,
                    file_digest(publication.folder / DESCRIPTION),
                )
            )
        sealed = tuple(kinds) + (("description",) if description is not None else ())
        manifest = Manifest(
            schema_version=schema_version(),
            alpha_id=alpha_id,
            source_alpha_id=SOURCE,
            snapshot="",
            seal_digest=digest(seal.encode()),
            started_at=started_at,
            sealed_at=sealed_at,
            equity_basis=1.0,
            smoothing=None,
            engine={},
            kinds=sealed,
            missing=missing,
            columns=columns,
            files=tuple(files),
            reconciliation={"declared": {}, "adjusted": False, "figures": []},
        )
        return publication.commit(manifest, {"name": name, "tldr": tldr}, force=force)


def _write(folder: Path, tables: type_kinds) -> tuple[list[FileEntry], dict[str, tuple[str, ...]]]:
    files, columns = [], {}
    for dataset, content in tables.items():
        table = PUBLISHED_TABLES[dataset]
        parts = {None: content} if isinstance(content, pl.DataFrame) else content
        for book, frame in sorted(parts.items(), key=lambda part: book_order(part[0] or "")):
            schema = stored_schema(table, frame.columns)
            path = folder / table_path(dataset, book)
            path.parent.mkdir(parents=True, exist_ok=True)
            pl.DataFrame(frame.select(schema.names).to_arrow().cast(schema)).write_parquet(path)
            days = frame[next(x for x in ("date", "timestamp", "from") if x in frame.columns)]
            first, last = days.min(), days.max()
            files.append(
                FileEntry(
                    table_path(dataset, book),
                    dataset,
                    book,
                    frame.height,
                    path.stat().st_size,
                    file_digest(path),
                    None if first is None else str(first)[:10],
                    None if last is None else str(last)[:10],
                )
            )
            columns[dataset] = (*table.partition, *schema.names)
    return files, columns


def _books(kinds: type_kinds) -> dict[str, pl.DataFrame]:
    rows = []
    for kind in BOOK_KINDS:
        parts = kinds.get(kind, {})
        assert not isinstance(parts, pl.DataFrame), f"{kind} is one table a book"
        for book, frame in parts.items():
            days = frame["timestamp" if kind == "trades" else "date"].cast(pl.Date)
            rows.append(
                {
                    "book": book,
                    "kind": kind,
                    "raw": book.startswith("raw_"),
                    "sessions": days.n_unique(),
                    "rows": frame.height,
                    "from": days.min(),
                    "to": days.max(),
                }
            )
    return {"books": pl.DataFrame(rows)} if rows else {}
