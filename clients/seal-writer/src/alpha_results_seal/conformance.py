"""Twelve valid and invalid seals to test readers of the format."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from alpha_results_seal.calendar import NEW_YORK
from alpha_results_seal.costs import Costs
from alpha_results_seal.errors import SealError
from alpha_results_seal.ledger import Ledger
from alpha_results_seal.writer import SealWriter

_AT = dt.datetime(2024, 7, 1, 12, 0, tzinfo=dt.timezone.utc)
_NAMES = [f"N{number:02d}" for number in range(10)]


def write_conformance(folder: Path) -> dict[str, Any]:
    """Write the twelve seals and ``expected.json`` into a new folder.

    Returns
    -------
    dict
        Content of ``expected.json``: seal -> the rules that refuse it, empty for a valid seal.

    Raises
    ------
    SealError
        If the folder exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise SealError(f"{folder} is not empty: name another folder.")
    complete, fills_only = _ledgers()
    for name, ledger in (("complete", complete), ("fills_only", fills_only), ("split", _split(fills_only))):
        SealWriter(
            folder / name, alpha_id=f"Test_{name}", engine=("conformance", "1"), started_at=_AT, sealed_at=_AT
        ).add_ledger(ledger).write()
    expected: dict[str, list[str]] = {"complete": [], "fills_only": [], "split": [], "further_names": []}
    for name, (change, rules) in _CHANGES.items():
        shutil.copytree(folder / "complete", folder / name)
        change(folder / name)
        expected[name] = rules
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")
    return expected


def _ledgers() -> tuple[Ledger, Ledger]:
    """Return the books of random scores, and the same books rebuilt from their fills alone."""
    days = np.arange(np.datetime64("2024-01-01"), np.datetime64("2024-06-29"))
    days = days[np.is_busday(days)]
    rng = np.random.default_rng(1)
    close = 20.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, (days.size, len(_NAMES))), axis=0))
    wide = pl.DataFrame(close, _NAMES).insert_column(0, pl.Series("date", days))
    scores = pl.DataFrame(rng.normal(size=(days.size, len(_NAMES))), _NAMES).insert_column(0, wide["date"])
    costs = Costs(fee=0.0001, impact=0.0005, borrow=0.00002, interest=0.0001)
    complete = Ledger.from_scores(scores, wide, costs=costs, calendar=NEW_YORK)
    trades = complete.tables["trades"].filter(pl.col("book") == "long_short")
    fills = trades.select(
        "symbol",
        "quantity",
        "fill_price",
        "mid_price",
        "fee",
        "decision_at",
        date=pl.col("timestamp").dt.date(),
    )
    return complete, Ledger.from_fills(fills, wide, NEW_YORK, costs=costs)


def _split(ledger: Ledger) -> Ledger:
    """Split one name two for one on the last session: twice the shares at half the price."""
    tables = dict(ledger.tables)
    last, symbol = tables["positions"].select(pl.col("date").max(), pl.col("symbol").last()).row(0)
    split = (pl.col("date") == last) & (pl.col("symbol") == symbol)
    before = tables["positions"].filter(split)["quantity"].item()
    tables["positions"] = tables["positions"].with_columns(
        quantity=pl.when(split).then(pl.col("quantity") * 2).otherwise("quantity"),
        mark_price=pl.when(split).then(pl.col("mark_price") / 2).otherwise("mark_price"),
    )
    tables["pnl"] = tables["pnl"].with_columns(quantity_adjustment=pl.when(split).then(before).otherwise(0.0))
    return Ledger(tables, ledger.equity_basis, ledger.notes)


def _manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "seal.json"
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def _table(kind: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], None]:
    """Return a function that changes a table of a seal and updates the manifest."""

    def changed(folder: Path) -> None:
        path = folder / f"{kind}.parquet"
        frame = change(pl.read_parquet(path))
        frame.write_parquet(path)
        content = path.read_bytes()
        entry = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "rows": frame.height}
        _manifest(folder, lambda document: document["kinds"][kind].update(entry))

    return changed


def _further_names(folder: Path) -> None:
    _table("rebalances", lambda frame: frame.with_columns(conformance_note=pl.lit("more")))(folder)
    (folder / "more.json").write_bytes(b"{}\n")
    entry = {"path": "more.json", "sha256": hashlib.sha256(b"{}\n").hexdigest(), "bytes": 3}
    _manifest(folder, lambda document: document.update(conformance_key=1))
    _manifest(folder, lambda document: document["kinds"].update(conformance_more=entry))


def _touched(folder: Path) -> None:
    path = folder / "positions.parquet"
    path.write_bytes(path.read_bytes() + b"\0")


def _outside(document: dict[str, Any]) -> None:
    document["kinds"]["trades"]["path"] = "../complete/trades.parquet"


def _lost_fill(trades: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([trades.head(40), trades.tail(-41)])


def _other_returns(decisions: pl.DataFrame) -> pl.DataFrame:
    return decisions.with_columns(forward_return=pl.col("forward_return").reverse().over("date"))


_CHANGES: Mapping[str, tuple[Callable[[Path], None], list[str]]] = {
    "further_names": (_further_names, []),
    "touched": (_touched, ["seal.digest"]),
    "path_outside": (lambda folder: _manifest(folder, _outside), ["seal.path"]),
    "version_2": (
        lambda folder: _manifest(folder, lambda document: document.update(seal_version=2)),
        ["seal.manifest"],
    ),
    "doubled_row": (_table("portfolio", lambda frame: pl.concat([frame, frame.tail(1)])), ["table.key"]),
    "unknown_code": (
        _table("trades", lambda frame: frame.with_columns(phase=pl.col("phase").replace("open", "opened"))),
        ["table.vocabulary"],
    ),
    "lost_fill": (
        _table("trades", _lost_fill),
        [
            "positions.fills",
            "pnl.market",
            "pnl.execution_cost",
            "portfolio.cash_flow",
            "portfolio.execution_cost",
            "portfolio.turnover_notional",
        ],
    ),
    "other_returns": (_table("decisions", _other_returns), ["decisions.forward_return"]),
    "other_side": (
        _table("decisions", lambda frame: frame.with_columns(score=-pl.col("score"))),
        ["decisions.sides"],
    ),
}
"""Seal -> the change made to the seal `complete`, and the rules that refuse the result."""
