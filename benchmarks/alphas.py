"""Data of the comparison: one run cloned into many alphas with different numbers, served by every server.

A clone is a valid seal: tickers are permuted, scores and amounts of money scaled, so every rule still holds and no two
alphas share a row. The seals go through the project's pipeline; the peers get the published rows as plain Parquet.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

import datasets
from datasets.layout import alpha_path, pointer_path
from pipeline.snapshot_builder import build_seal
from schemas.rows import ROWS
from tests.support.pointers import synthetic_pointer
from tests.support.processes import REPOSITORY

NAMES, WEEKS = 528, 297
"""Size of the run that is simulated if none is given: 156,816 decisions."""

_DECISION = [column.name for column in ROWS["decision"].columns if not column.raw]
_LEDGER = [column.name for column in ROWS["portfolio"].columns]
INSTANT: Final = "%Y-%m-%dT%H:%M:%SZ"


def alpha_id(number: int) -> str:
    """Return the id of a clone."""
    return f"Test_bench_{number:02d}"


def prepare(folder: Path, *, seal: Path | None, alphas: int, pointers: int, log: Any) -> Path:
    """Publish the alphas, unless an earlier run did, and return their folder.

    Parameters
    ----------
    folder
        Folder for all benchmark data.
    seal
        The run to clone; None simulates one of the same shape.
    alphas
        Number of clones.
    pointers
        Number of alphas in the larger catalogue, including the clones.
    log
        Prints a line of progress.

    Returns
    -------
    Path
        With ``few`` (a root of ten alphas), ``root`` (all clones, many pointers), ``peers`` (Parquet).
    """
    source = f"{_code_digest()} {alphas} {pointers} " + (
        f"simulated {NAMES} {WEEKS}"
        if seal is None
        else hashlib.sha256((seal / "seal.json").read_bytes()).hexdigest()
    )
    data = folder / f"alphas-{hashlib.sha256(source.encode()).hexdigest()[:12]}"
    if (data / "complete").exists():
        log(f"data of an earlier run: {data}")
        return data
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    template = seal if seal is not None else _simulate(data, log)
    for number in range(alphas):
        log(f"alpha {number + 1} of {alphas}: clone, check, build")
        build_seal(str(_clone(template, data / "seal", number)), str(data / "root"))
        shutil.rmtree(data / "seal")
    log("rows for the peers")
    _write_peer_tables(data, alphas)
    _link_subset(data, min(10, alphas))
    _fill_catalogue(data, pointers, alphas)
    shutil.rmtree(data / "simulated", ignore_errors=True)
    (data / "source").write_text("a run of the reference engine" if seal is None else f"the seal {seal.name}")
    (data / "complete").touch()
    return data


def _code_digest() -> str:
    """Return a digest of the code that publishes the clones, so that data from other code are not reused."""
    files = [
        file for folder in ("schemas", "datasets", "pipeline") for file in (REPOSITORY / folder).rglob("*.py")
    ]
    digest = hashlib.sha256()
    for file in (*sorted(files), Path(__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _simulate(data: Path, log: Any) -> Path:
    log(f"simulating a run of {NAMES} names over {WEEKS} weeks")
    command = [sys.executable, "-m", "pipeline", "simulate", "--out", str(data / "simulated"), "--json"]
    command += ["--names", str(NAMES), "--weeks", str(WEEKS)]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return Path(json.loads(done.stdout)["seals"][0])


def _clone(template: Path, target: Path, number: int) -> Path:
    """Write a seal with the shape of another and different numbers."""
    target.mkdir()
    manifest = json.loads((template / "seal.json").read_text())
    random = np.random.default_rng(1000 + number)
    score, size = 0.5 + random.random(), 0.8 + random.random() / 5
    tables = {
        kind: pl.read_parquet(template / entry["path"])
        for kind, entry in manifest["kinds"].items()
        if str(entry["path"]).endswith(".parquet")
    }
    tickers = tables["decisions"]["symbol"].unique().sort()
    others = pl.Series(random.permutation(tickers.to_numpy()))
    for kind, table in tables.items():
        if "symbol" in table.columns:
            tables[kind] = table.with_columns(symbol=pl.col("symbol").replace(tickers, others))
    decisions = tables["decisions"]
    tables["decisions"] = decisions.with_columns(
        *(pl.col(name) * score for name in ("score", "unsmoothed_score") if name in decisions.columns),
    ).sort("date", "symbol")
    _scale_books(tables, size)
    manifest["equity_basis"] = size * (manifest.get("equity_basis") or 1.0)
    kinds: dict[str, Any] = {}
    for kind, entry in manifest["kinds"].items():
        if kind == "source":
            continue
        path = target / entry["path"]
        if kind in tables:
            tables[kind].write_parquet(path)
        else:
            shutil.copyfile(template / entry["path"], path)
        content = path.read_bytes()
        kinds[kind] = {**entry, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    day = f"2026-01-{number % 28 + 1:02d}"
    manifest |= {"alpha_id": alpha_id(number), "kinds": kinds}
    manifest |= {"started_at": f"{day}T06:00:00Z", "sealed_at": f"{day}T07:30:00Z"}
    (target / "seal.json").write_text(json.dumps(manifest))
    return target


def _scale_books(tables: dict[str, pl.DataFrame], size: float) -> None:
    """Scale the equity of the books: amounts and quantities change, weights, returns and turnover do not."""
    col, key = pl.col, ["book", "date"]
    money = {
        "portfolio": [
            "starting_equity", "ending_equity", "cash_start", "cash_end", "market_pnl", "execution_cost", "borrow_cashflow",
            "cash_carry", "rounding_adjustment", "position_value_end", "gross_notional", "net_notional", "turnover_notional",
        ],
        "positions": ["quantity", "signed_notional"],
        "pnl": ["market_pnl", "execution_cost", "borrow_cashflow"],
        "trades": ["quantity", "fee", "execution_cost"],
    }  # fmt: skip
    for kind, amounts in money.items():
        if kind in tables:
            present = [name for name in amounts if name in tables[kind].columns]
            tables[kind] = tables[kind].with_columns(col(present) * size)
    for kind in ("positions", "pnl"):
        if kind in tables:
            tables[kind] = tables[kind].sort(*key, "symbol", maintain_order=True)


def _write_peer_tables(data: Path, alphas: int) -> None:
    """Write the peers' tables: the rows as served, with timestamps already formatted."""
    root, folder = datasets.open(data / "root"), data / "peers"
    (folder / "decisions").mkdir(parents=True)
    (folder / "ledger").mkdir()
    for number in range(alphas):
        name = alpha_id(number)
        run = root[name]
        decisions = (
            run.scan("decisions")
            .collect()
            .select("date", *(x for x in _DECISION if x in run.columns("decisions")))
        )
        instants = [x for x, kind in decisions.schema.items() if isinstance(kind, pl.Datetime)]
        decisions = decisions.with_columns(pl.col(instants).dt.strftime(INSTANT))
        decisions.write_parquet(folder / "decisions" / f"{name}.parquet", row_group_size=20_000)
        ledgers = []
        for book in ("long_short", "long_only"):
            rows = run.scan("portfolio", book).collect().with_columns(pl.lit(book).alias("book"))
            ledgers.append(rows.select(x for x in _LEDGER if x in rows.columns))
        pl.concat(ledgers).with_columns(pl.col("timestamp").dt.strftime(INSTANT)).write_parquet(
            folder / "ledger" / f"{name}.parquet"
        )


def _link_subset(data: Path, count: int) -> None:
    """Publish some of the snapshots in a second root, by hard links."""
    (data / "few" / "catalog").mkdir(parents=True)
    (data / "few" / "alphas").mkdir()
    for name in map(alpha_id, range(count)):
        shutil.copyfile(data / "root" / pointer_path(name), data / "few" / pointer_path(name))
        folder = alpha_path(name)
        shutil.copytree(data / "root" / folder, data / "few" / folder, copy_function=os.link)


def _fill_catalogue(data: Path, pointers: int, alphas: int) -> None:
    """Fill the catalogue with pointers that only lists read, and write the same rows for the peers."""
    for number in range(pointers - alphas):
        pointer = synthetic_pointer(number)
        (data / "root" / pointer_path(pointer.alpha_id)).write_bytes(pointer.encode())
    rows = [(x.alpha_id, x.name, x.tldr) for x in datasets.open(data / "root").catalogue.listing.pointers]
    listed = pl.DataFrame(rows, ["alpha_id", "name", "tldr"], orient="row")
    listed.with_row_index("place").write_parquet(data / "peers" / "catalogue.parquet")


def weeks_of(data: Path) -> list[str]:
    """Return the decision dates shared by all alphas, as ascending ISO text."""
    return _distinct(data / "peers" / "decisions" / f"{alpha_id(0)}.parquet", "date")


def sessions_of(data: Path) -> list[str]:
    """Return the sessions of the ledgers, as ascending ISO text."""
    return _distinct(data / "peers" / "ledger" / f"{alpha_id(0)}.parquet", "date")


def lasting_symbols(data: Path, number: int) -> list[str]:
    """Return the symbols that an alpha scores in every week."""
    frame = pl.read_parquet(
        data / "peers" / "decisions" / f"{alpha_id(number)}.parquet", columns=["date", "symbol"]
    )
    weeks = frame["date"].n_unique()
    return sorted(frame.group_by("symbol").len().filter(pl.col("len") == weeks)["symbol"])


def _distinct(file: Path, column: str) -> list[str]:
    values: Sequence[Any] = pl.read_parquet(file, columns=[column])[column].unique().sort().to_list()
    return [str(value) for value in values]
