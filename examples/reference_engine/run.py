"""Runs alphas on a simulated market and writes their seals."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from examples.reference_engine.alpha import DEFAULT_ALPHAS, ENGINE, AlphaSpec
from examples.reference_engine.ledger import run_books
from examples.reference_engine.market import BENCHMARK_SYMBOL, Market, simulate_market
from examples.reference_engine.own_metrics import own_metrics
from examples.reference_engine.strategy import decide
from examples.reference_engine.texts import description, source_files
from examples.reference_engine.weekly_tables import decisions_table, rebalances_table
from examples.reference_engine.write import UNFINISHED, RunRecord, finish_seal, json_bytes, write_seal
from schemas.errors import SettingsError
from schemas.market_data import SIMULATED_KEY

MARKET: Final = "market"
"""Folder of the benchmark, next to the seals."""
_RECEIPT: Final = "simulation.json"
"""Parameters of a simulation and the digest of every file; written last."""
_DRAFT: Final = ".unfinished"
"""Folder in which a simulation is written before its files are moved to their places."""


def run_alpha(market: Market, spec: AlphaSpec) -> RunRecord:
    """Run one alpha and return the content of its seal.

    Parameters
    ----------
    market
        The simulated market, shared by the alphas of a simulation.
    spec
        The run.

    Returns
    -------
    RunRecord
        Six tables, metrics, description and source, and the trials if some were run.
    """
    decisions = decide(market, spec)
    traded = decisions.status == "traded"
    tradeable = decisions.tradeable
    books = {book: w for book, w in decisions.weights.items() if spec.raw or not book.startswith("raw_")}
    ledger = run_books(market, books, traded, tradeable, spec.equity_basis)
    filled = {
        family: np.any(
            [ledger.filled[place] for place, book in enumerate(books) if book.startswith("raw_") == raw],
            axis=0,
        )
        for family, raw in (("conditioned", False), ("raw", True))
        if spec.raw or not raw
    }
    rebalances = rebalances_table(market, decisions)
    weekly = decisions_table(market, decisions, filled, raw=spec.raw, ranks=spec.ranks)
    return RunRecord(
        manifest=_manifest(spec),
        tables={
            "rebalances": rebalances,
            "decisions": weekly,
            "portfolio": ledger.portfolio,
            "positions": ledger.positions,
            "pnl": ledger.pnl,
            "trades": ledger.trades,
            **_trials(market, spec, ledger.portfolio),
        },
        metrics=own_metrics(weekly, rebalances, ledger.portfolio),
        description=description(spec, tuple(sorted(set(rebalances["date"].dt.year().to_list())))),
        source=source_files(spec),
    )


def _trials(market: Market, spec: AlphaSpec, portfolio: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Run every variant in `spec.tried`; return a table of their returns and the run's own, or no table without variants."""
    if not spec.tried:
        return {}
    ledgers = {spec.half_life_weeks: portfolio}
    for half_life in spec.tried:
        if half_life not in ledgers:
            variant = replace(spec, half_life_weeks=half_life, raw=False, ranks=False, tried=())
            ledgers[half_life] = run_alpha(market, variant).tables["portfolio"]
    returns = [
        ledger.filter(pl.col("book") == "long_short").select(
            trial=pl.lit(f"half_life_weeks={half_life}"),
            date="date",
            period_return=pl.col("ending_equity") / pl.col("starting_equity") - 1.0,
        )
        for half_life, ledger in ledgers.items()
    ]
    return {"trials": pl.concat(returns).sort("trial", "date")}


def simulate(
    out: Path,
    *,
    seed: int,
    names: int,
    weeks: int,
    alphas: Sequence[AlphaSpec] = DEFAULT_ALPHAS,
    replace_unchanged: bool = False,
) -> list[Path]:
    """Write one complete seal per alpha, and the simulated benchmark they share.

    It also writes ``market/SIMSPY.parquet`` (date, symbol, close, adj_close) to `out` and, last of all, a
    receipt of the arguments and of every file's digest.

    Parameters
    ----------
    out
        Folder to write into, by one process at a time; created if missing, and refused unless it is empty or holds an
        interrupted simulation.
    seed, names, weeks
        Arguments of the market; see :func:`~examples.reference_engine.market.simulate_market`.
    alphas
        The runs, at least one, each with its own `alpha_id`.
    replace_unchanged
        Also overwrite a finished simulation with other arguments, if none of its files was changed since.

    Returns
    -------
    list of pathlib.Path
        The folders of the seals, in the order of `alphas`.

    Raises
    ------
    SettingsError
        When an argument is invalid or `out` has other content.
    """
    identifiers = [spec.alpha_id for spec in alphas]
    if not identifiers or len(set(identifiers)) < len(identifiers):
        raise SettingsError(f"alphas must be one or more runs with distinct ids, and are {identifiers}.")
    market = simulate_market(seed, names, weeks)
    draft = out / _DRAFT
    shutil.rmtree(draft, ignore_errors=True)  # left by an interrupted call
    _require_free(out, replace_unchanged=replace_unchanged)
    draft.mkdir(parents=True)
    for spec in alphas:
        # Finished in `out`: a batch that searches it would build a seal that is about to be moved.
        write_seal(draft / spec.alpha_id, run_alpha(market, spec), finish=False)
    _write_benchmark(draft / MARKET, market)
    digests = {path.replace(UNFINISHED, "seal.json"): digest for path, digest in _digests(draft).items()}
    receipt = {"parameters": _parameters(seed, names, weeks, alphas), "files": digests}
    (draft / _RECEIPT).write_bytes(json_bytes(receipt))
    for replaced in set(out.iterdir()) - {draft}:
        shutil.rmtree(replaced) if replaced.is_dir() else replaced.unlink()
    for path in set(draft.iterdir()) - {draft / _RECEIPT}:
        path.rename(out / path.name)
    seals = [out / spec.alpha_id for spec in alphas]
    for seal in seals:
        finish_seal(seal)
    (draft / _RECEIPT).rename(out / _RECEIPT)
    draft.rmdir()
    return seals


def already_simulated(
    out: Path, *, seed: int, names: int, weeks: int, alphas: Sequence[AlphaSpec] = DEFAULT_ALPHAS
) -> list[Path] | None:
    """Return the seals in `out` if the same call of :func:`simulate` wrote them and no file has changed.

    Returns
    -------
    list of pathlib.Path or None
        None when `out` is missing, empty, unfinished, changed, or from other arguments.
    """
    wanted = json.loads(json_bytes(_parameters(seed, names, weeks, alphas)))
    if _receipt(out) != {"parameters": wanted, "files": _digests(out)}:
        return None
    return [out / spec.alpha_id for spec in alphas]


def _require_free(out: Path, *, replace_unchanged: bool) -> None:
    if out.is_dir() and any(out.iterdir()):
        receipt = _receipt(out)
        free = replace_unchanged and receipt is not None and receipt["files"] == _digests(out)
    else:
        free = not out.exists() or out.is_dir()
    if not free:
        raise SettingsError(
            f"{out} has other content: name another folder, or give --replace if it is an unchanged simulation of other options"
        )


def _receipt(out: Path) -> dict[str, Any] | None:
    try:
        receipt = json.loads((out / _RECEIPT).read_bytes())
    except (OSError, ValueError):
        return None
    return receipt if isinstance(receipt, dict) and receipt.keys() == {"parameters", "files"} else None


def _digests(out: Path) -> dict[str, str]:
    """Return the SHA-256 of every file but the receipt, by its path in the folder."""
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != _RECEIPT)
    return {path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _manifest(spec: AlphaSpec) -> dict[str, Any]:
    half_life = spec.half_life_weeks
    return {
        "seal_version": 1,
        "alpha_id": spec.alpha_id,
        "source_alpha_id": spec.source_alpha_id,
        "started_at": spec.started_at,
        "sealed_at": spec.sealed_at,
        "engine": ENGINE,
        "equity_basis": spec.equity_basis,
        "smoothing": {
            "applied": half_life is not None,
            "half_life_weeks": half_life,
            "detail": "exponential smoothing of the weekly score" if half_life is not None else None,
        },
    }


def _parameters(seed: int, names: int, weeks: int, alphas: Sequence[AlphaSpec]) -> dict[str, Any]:
    return {
        "engine": ENGINE, "seed": seed, "names": names, "weeks": weeks, "alphas": [asdict(spec) for spec in alphas],
    }  # fmt: skip


def _write_benchmark(folder: Path, market: Market) -> None:
    folder.mkdir()
    file = BytesIO()
    pl.DataFrame(
        {
            "date": market.schedule[: market.observed],
            "symbol": [BENCHMARK_SYMBOL] * market.observed,
            "close": market.benchmark,
            "adj_close": market.benchmark_adjusted,
        }
    ).write_parquet(file, compression="zstd", compression_level=3, metadata={SIMULATED_KEY: "true"})
    (folder / f"{BENCHMARK_SYMBOL}.parquet").write_bytes(file.getvalue())
