"""Changes of a sealed table or document, for seals that break a rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from schemas.table import Column
from tests.support.seals import declare, resign, rewrite

Change = Callable[[pl.DataFrame], pl.DataFrame]


def put(column: str, value: Any, rows: int = 1, where: pl.Expr | None = None) -> Change:
    """Write a value (or an expression) into the first rows, or the first of those that match."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        matching = pl.int_range(pl.len()) >= 0 if where is None else where
        chosen = frame.select(matching.cast(pl.Int32).cum_sum().le(rows) & matching).to_series()
        assert chosen.sum() == rows
        new = value if isinstance(value, pl.Expr) else pl.lit(value, dtype=frame.schema[column])
        return frame.with_columns(pl.when(chosen).then(new).otherwise(pl.col(column)).alias(column))

    return change


def both(*changes: Change) -> Change:
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        for step in changes:
            frame = step(frame)
        return frame

    return change


def with_column(column: Column) -> Change:
    """Add an optional column the engine does not seal, 0 throughout."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        return frame if column.name in frame.columns else frame.with_columns(pl.lit(0.0).alias(column.name))

    return change


def col(name: str) -> pl.Expr:
    return pl.col(name)


def manifest(**changes: Any) -> Callable[[Path], None]:
    def alter(seal: Path) -> None:
        rewrite(seal, "seal", lambda document: document | changes)

    return alter


def entry(kind: str, **changes: Any) -> Callable[[Path], None]:
    def alter(seal: Path) -> None:
        declare(seal, kind, **changes)

    return alter


def table(kind: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def alter(seal: Path) -> None:
        rewrite(seal, kind, change)

    return alter


def soon(**later: int) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat(timespec="seconds").replace("+00:00", "Z")


def link_positions(seal: Path) -> None:
    moved = seal.parent / "elsewhere.parquet"
    (seal / "positions.parquet").rename(moved)
    (seal / "positions.parquet").symlink_to(moved)


def link_source_folder(seal: Path) -> None:
    (seal / "source").rename(seal.parent / "elsewhere")
    (seal / "source").symlink_to(seal.parent / "elsewhere")


def flip_one_byte(seal: Path) -> None:
    path = seal / "trades.parquet"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def no_parquet(seal: Path) -> None:
    (seal / "pnl.parquet").unlink()
    (seal / "pnl.bin").write_bytes(b"PAR1 this is text PAR1")
    entry("pnl", path="pnl.bin")(seal)
    resign(seal)


def repeat_first(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame.head(1)])


def at(path: str, value: Any) -> Callable[[Any], Any]:
    """Write a value into a JSON document, at a dotted path."""

    def change(document: Any) -> Any:
        *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        node = document
        for part in above:
            node = node[part]
        node[last] = value
        return document

    return change


def more_records(*records: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda document: {"records": [*document["records"], *records]}


RECORD: dict[str, Any] = {
    "name": "hand_made",
    "scope": "overall",
    "period": None,
    "value": 1.0,
    "unit": "ratio",
    "source_kind": "fact",
    "annualised": False,
}


TRADEABLE = col("next_open_tradeable")


TRADED_FILL = col("fill_at").is_not_null()


FIRST_PENDING = col("date") == col("date").max()


MONDAY_IN_2031 = datetime(2031, 6, 2, 13, 30, tzinfo=UTC)
