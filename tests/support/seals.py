"""Small valid seals, and functions that break exactly one thing in them.

A seal comes from the reference engine on a simulated market, so it satisfies every rule and its figures are
consistent. A test that needs a broken seal changes a single table with :func:`rewrite`, which updates the manifest,
so that only the rule under test is broken.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market, write_seal
from examples.reference_engine.alpha import SignalName
from examples.reference_engine.texts import source_files


def make_seal(
    folder: Path,
    *,
    alpha_id: str = "Test_small",
    names: int = 24,
    weeks: int = 30,
    seed: int = 1,
    signal: SignalName = "momentum",
    half_life_weeks: float | None = 2.0,
    equity_basis: float = 1.0,
    raw: bool = True,
    ranks: bool = False,
    pending: bool = True,
    skipped: bool = True,
    tried: tuple[float, ...] = (),
    trades: bool = True,
    metrics: bool = True,
    description: bool = True,
    source: bool = True,
    without_kinds: Collection[str] = (),
    without_columns: Mapping[str, Collection[str]] | None = None,
    source_alpha_id: str | None = None,
    started_at: str = "2026-01-05T06:00:00Z",
    sealed_at: str = "2026-01-05T07:30:00Z",
) -> Path:
    """Write a seal into ``folder / alpha_id`` and return that path.

    Parameters
    ----------
    folder
        Parent of the seal; two seals of different `alpha_id` may share it.
    alpha_id, source_alpha_id, started_at, sealed_at, equity_basis
        As in `seal.json`.
    names, weeks, seed
        The simulated market; at least 20 names are scored in every week that is not skipped.
    signal, half_life_weeks
        The signal, and the half-life of its smoothing (None: no smoothing).
    raw
        Whether the signal before smoothing and the raw books are recorded.
    ranks
        Whether ranks are sealed.
    pending
        Whether the last week is pending, rather than traded.
    skipped
        Whether to skip weeks: three of warm-up and one with too many missing prices.
    tried
        Half-lives whose returns are sealed as trials, along with the run's own.
    trades, metrics, description, source
        Whether the kind is sealed.
    without_kinds
        Further kinds to leave out.
    without_columns
        Kind -> columns to leave out of its table; a column that it lacks is an error.
    """
    absent = {*without_kinds}
    absent |= {kind for kind, kept in (("trades", trades), ("metrics", metrics)) if not kept}
    spec = AlphaSpec(
        alpha_id=alpha_id,
        signal=signal,
        half_life_weeks=half_life_weeks,
        started_at=started_at,
        sealed_at=sealed_at,
        source_alpha_id=source_alpha_id,
        equity_basis=equity_basis,
        raw=raw,
        ranks=ranks,
        tried=tried,
    )
    # A run does not depend on its name or dates, so seals that differ only in these share one run.
    unnamed = replace(spec, alpha_id="unnamed", source_alpha_id=None, started_at="", sealed_at="")
    run = _run(_market(seed, names, weeks, pending, skipped), unnamed)
    tables = {kind: table for kind, table in run.tables.items() if kind not in absent}
    for kind, columns in (without_columns or {}).items():
        tables[kind] = tables[kind].drop(*columns)
    record = RunRecord(
        manifest={
            **run.manifest,
            "alpha_id": alpha_id,
            "source_alpha_id": source_alpha_id,
            "started_at": started_at,
            "sealed_at": sealed_at,
        },
        tables=tables,
        metrics=None if "metrics" in absent else run.metrics,
        description=run.description if description and "description" not in absent else None,
        source=source_files(spec) if source and "source" not in absent else None,
    )
    return write_seal(folder / alpha_id, record)


def rewrite(seal: Path, kind: str, change: Callable[[Any], Any]) -> Path:
    """Change one part of a seal and sign the seal again.

    Parameters
    ----------
    seal
        The seal's folder.
    kind
        A Parquet kind (`change` maps a polars frame to a frame), a JSON kind (it maps the parsed document
        to a document), or `seal` for the manifest itself, which is then not updated.
    change
        The function to apply.
    """
    if kind == "seal":
        path = seal / "seal.json"
        path.write_text(json.dumps(change(json.loads(path.read_text())), indent=1))
        return seal
    path = seal / json.loads((seal / "seal.json").read_text())["kinds"][kind]["path"]
    if path.suffix == ".parquet":
        # Read into memory: a frame mapped from the file would change while the file is rewritten.
        change(pl.read_parquet(io.BytesIO(path.read_bytes()))).write_parquet(path)
    else:
        path.write_text(json.dumps(change(json.loads(path.read_text())), indent=1))
    return resign(seal)


def declare(seal: Path, kind: str, **changes: Any) -> None:
    """Change the manifest's entry of a kind."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        document["kinds"][kind] |= changes
        return document

    rewrite(seal, "seal", change)


def linked(seal: Path, target: Path, **changes: Any) -> Path:
    """Copy a seal by hard links, with members of its manifest changed; return the copy."""
    shutil.copytree(seal, target, copy_function=os.link)
    manifest = json.loads((seal / "seal.json").read_text())
    (target / "seal.json").unlink()
    (target / "seal.json").write_text(json.dumps(manifest | changes))
    return target


def resign(seal: Path) -> Path:
    """Make the manifest agree with the files: digests, sizes, row counts, and the list of source files.

    A kind whose file is missing is removed from the manifest. All source files are listed; any other file that the
    manifest does not name stays unlisted.
    """
    path = seal / "seal.json"
    manifest = json.loads(path.read_text())
    kinds: dict[str, Any] = {}
    for kind, entry in manifest["kinds"].items():
        target = seal / entry["path"]
        if kind == "source" and target.is_dir():
            files = sorted(file for file in target.rglob("*") if file.is_file())
            kinds[kind] = {
                **entry,
                "files": {file.relative_to(target).as_posix(): _digest(file) for file in files},
            }
        elif target.is_file():
            kinds[kind] = {**entry, "sha256": _digest(target), "bytes": target.stat().st_size}
            if target.suffix == ".parquet":
                kinds[kind]["rows"] = pl.scan_parquet(target).select(pl.len()).collect().item()
    path.write_text(json.dumps({**manifest, "kinds": kinds}, indent=1))
    return seal


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=16)
def _market(seed: int, names: int, weeks: int, pending: bool, skipped: bool) -> Market:
    return simulate_market(seed, names, weeks, pending=pending, skipped=skipped)


@lru_cache(maxsize=64)
def _run(market: Market, spec: AlphaSpec) -> RunRecord:
    return run_alpha(market, spec)
