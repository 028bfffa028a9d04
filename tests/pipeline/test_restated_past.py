"""A seal that restates an earlier one is published with a lasting record."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import datasets
from datasets.layout import sealed_weeks_path
from datasets.provenance.sealed_weeks import decode_seals
from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market, write_seal
from pipeline.snapshot_builder import build_seal
from schemas.errors import PublicationRefused, SnapshotCorrupt
from tests.support.pipeline_command import run_pipeline

ALPHA = "Test_past"
WEEKS = 24
MARKET = simulate_market(3, 30, WEEKS, pending=False, skipped=False)

Change = Callable[[pl.DataFrame], pl.DataFrame]


def observed_until(week: int, *, pending: bool) -> Market:
    """Return the market as known after that many decisions."""
    sessions = int(MARKET.decisions[week - 1]) + (1 if pending else 2)
    of_sessions = ("opens", "closes", "no_borrow", "illiquid", "risk_free", "benchmark", "benchmark_adjusted")
    return replace(
        MARKET,
        decisions=MARKET.decisions[:week],
        **{name: getattr(MARKET, name)[:sessions] for name in of_sessions},
    )


@pytest.fixture(scope="module")
def runs() -> dict[tuple[int, bool], RunRecord]:
    spec = AlphaSpec(ALPHA, "momentum", raw=True)
    sizes = ((12, True), (12, False), (18, True), (WEEKS, False))
    return {
        (weeks, pending): run_alpha(observed_until(weeks, pending=pending), spec) for weeks, pending in sizes
    }


def seal(folder: Path, run: RunRecord, day: int, **changes: Change) -> Path:
    """Write a run as a seal of a day with changed tables and without its own figures."""
    tables = {kind: changes.get(kind, pl.DataFrame.clone)(rows) for kind, rows in run.tables.items()}
    manifest = {**run.manifest, "sealed_at": f"2026-02-{day:02}T00:00:00Z"}
    return write_seal(folder / f"{day}", replace(run, manifest=manifest, tables=tables, metrics=None))


def history(root: Path) -> tuple[Any, ...]:
    return tuple(datasets.open(root)[ALPHA].manifest.history)


def scaled_returns(since: str) -> Change:
    past = pl.col("date") >= pl.lit(since).str.to_date()
    # Not proven by any pair of fills: a name that no book held or sold that week.
    unheld = pl.col("fill_at").is_null() & pl.col("raw_fill_at").is_null()
    value = pl.col("forward_return")
    return lambda rows: rows.with_columns(
        forward_return=pl.when(past & unheld).then(value * 0.5).otherwise(value)
    )


@pytest.mark.parametrize("pending", [True, False])
def test_a_longer_run_extends_the_previous_one(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord], pending: bool
) -> None:
    root = tmp_path / "root"
    first = build_seal(str(seal(tmp_path, runs[12, pending], 1)), root)
    assert history(root) == ()
    second = build_seal(str(seal(tmp_path, runs[18, True], 2)), root)
    build_seal(str(seal(tmp_path, runs[WEEKS, False], 3)), root)
    assert [(x["snapshot"], x["outcome"], x["common_weeks"]) for x in history(root)] == [
        (first.snapshot, "extended", 12),
        (second.snapshot, "extended", 18),
    ]
    for entry in history(root):
        assert set(entry["restated_weeks"].values()) == {0}
        assert entry["restated_since"] is None
        assert entry["mean_ic_before"] == entry["mean_ic_after"] is not None
    assert run_pipeline("verify", root).exit_code == 0


def test_a_restated_past_is_dated_and_measured(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    build_seal(str(seal(tmp_path, runs[18, True], 1)), root)
    weeks = runs[18, True].tables["rebalances"]["date"].to_list()
    build_seal(
        str(seal(tmp_path, runs[WEEKS, False], 2, decisions=scaled_returns(weeks[10].isoformat()))), root
    )
    (entry,) = history(root)
    assert (entry["outcome"], entry["restated_since"]) == ("restated", weeks[10].isoformat())
    assert entry["restated_weeks"] == {"scores": 0, "targets": 0, "forward_returns": 6, "fills": 0}
    assert entry["mean_ic_before"] != entry["mean_ic_after"]
    shown = run_pipeline("show", root, ALPHA).output
    assert f"weeks restated since {weeks[10]}: forward returns 6" in shown.replace("\n", " ")


def test_restated_parts_of_a_week_are_distinguished(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root, run = tmp_path / "root", runs[WEEKS, False]
    build_seal(str(seal(tmp_path, run, 1)), root)

    def rescored(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(score=pl.col("score") * 2)

    build_seal(str(seal(tmp_path, run, 2, decisions=rescored)), root)
    (entry,) = history(root)
    restated = entry["restated_weeks"]
    assert (restated["scores"], restated["targets"], restated["fills"]) == (WEEKS, 0, 0)
    other = run_alpha(MARKET, AlphaSpec(ALPHA, "reversal"))
    build_seal(str(seal(tmp_path, other, 3)), root)
    restated = history(root)[0]["restated_weeks"]
    assert restated["scores"] == WEEKS
    assert min(restated["targets"], restated["fills"]) > WEEKS - 4
    assert restated["forward_returns"] == 0


def test_removed_weeks_are_restated(tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]) -> None:
    root, run = tmp_path / "root", runs[WEEKS, False]
    build_seal(
        str(seal(tmp_path, replace(run, tables={k: run.tables[k] for k in ("rebalances", "decisions")}), 1)),
        root,
    )
    gone = run.tables["rebalances"]["date"][7]

    def without(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.filter(pl.col("date") != gone)

    tables = {kind: without(run.tables[kind]) for kind in ("rebalances", "decisions")}
    build_seal(str(seal(tmp_path, replace(run, tables=tables), 2)), root)
    (entry,) = history(root)
    assert (entry["outcome"], entry["restated_since"], entry["common_weeks"]) == (
        "restated", gone.isoformat(), WEEKS - 1,
    )  # fmt: skip


def test_rounding_differences_restate_nothing(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root, run = tmp_path / "root", runs[WEEKS, False]
    build_seal(str(seal(tmp_path, run, 1)), root)
    build_seal(
        str(seal(tmp_path, run, 2, decisions=lambda rows: rows.with_columns(pl.col("score") * (1 + 1e-15)))),
        root,
    )
    assert [x["outcome"] for x in history(root)] == ["extended"]


def test_gc_keeps_the_record_of_earlier_seals(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    first = build_seal(str(seal(tmp_path, runs[12, True], 1, decisions=scaled_returns("2000-01-01"))), root)
    build_seal(str(seal(tmp_path, runs[18, True], 2)), root)
    assert run_pipeline("gc", root, "--keep", "1", "--grace", "0s").exit_code == 0
    assert not list(root.glob(f"alphas/*/snapshot={first.snapshot}"))
    build_seal(str(seal(tmp_path, runs[WEEKS, False], 3)), root)
    assert [x["outcome"] for x in history(root)] == ["restated", "extended"]
    assert run_pipeline("verify", root).exit_code == 0


def test_rebuilding_a_seal_gives_the_same_history(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    seals = [seal(tmp_path, runs[12, True], 1), seal(tmp_path, runs[18, True], 2)]
    built = [build_seal(str(one), root).snapshot for one in seals]
    remembered = (root / sealed_weeks_path(ALPHA)).read_bytes()
    run_pipeline("rollback", root, ALPHA)
    assert history(root) == ()
    for one, snapshot in zip(reversed(seals), reversed(built), strict=True):
        assert build_seal(str(one), root, force=True).snapshot == snapshot
    assert (root / sealed_weeks_path(ALPHA)).read_bytes() == remembered


def test_an_older_seal_that_is_forced_is_compared_with_the_later_one(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    build_seal(str(seal(tmp_path, runs[18, True], 2)), root)
    older = str(seal(tmp_path, runs[12, True], 1))
    with pytest.raises(PublicationRefused, match="sealed"):
        build_seal(older, root)
    build_seal(older, root, force=True)
    (entry,) = history(root)
    assert (entry["outcome"], entry["common_weeks"]) == ("restated", 12), (
        "six weeks that were served are gone"
    )


def test_concurrent_builders_record_every_seal(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    seals = [seal(tmp_path, runs[12, True], day) for day in (1, 2, 3)]

    def built(one: Path) -> None:
        try:
            build_seal(str(one), root)
        except PublicationRefused:
            return

    with ThreadPoolExecutor(3) as crew:
        list(crew.map(built, seals))
    build_seal(str(seal(tmp_path, runs[18, True], 4)), root)
    assert max(x["sealed_at"] for x in history(root)) == "2026-02-03T00:00:00Z"
    path = root / sealed_weeks_path(ALPHA)
    assert len(decode_seals(path.read_bytes(), "seals")) == len(history(root)) + 1


def test_a_seal_that_a_later_one_overtakes_is_not_recorded(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    older, later = (str(seal(tmp_path, runs[12, True], day)) for day in (1, 2))

    def overtake(stage: str) -> None:
        if stage == "notices":
            build_seal(later, root)

    with pytest.raises(PublicationRefused, match="later than this seal"):
        build_seal(older, root, on_stage=overtake)
    recorded = decode_seals((root / sealed_weeks_path(ALPHA)).read_bytes(), "seals")
    assert [entry.sealed_at for entry in recorded] == ["2026-02-02T00:00:00Z"]


def test_a_damaged_seal_record_is_reported_and_never_overwritten(
    tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]
) -> None:
    root = tmp_path / "root"
    build_seal(str(seal(tmp_path, runs[12, True], 1)), root)
    path = root / sealed_weeks_path(ALPHA)
    sound = path.read_bytes()
    for damage in (b"{", sound.replace(b'"2021', b'"1921', 1), b'{"seals":[]}'):
        path.write_bytes(damage)
        assert run_pipeline("verify", root).exit_code != 0
    path.write_bytes(sound[:-20])
    with pytest.raises(SnapshotCorrupt, match="earlier seals"):
        build_seal(str(seal(tmp_path, runs[18, True], 2)), root)
    assert path.read_bytes() == sound[:-20]


def test_raw_columns_are_not_compared(tmp_path: Path, runs: dict[tuple[int, bool], RunRecord]) -> None:
    run = runs[WEEKS, False]
    raw = [c for c in run.tables["decisions"].columns if c.startswith("raw_") or c == "unsmoothed_score"]
    of_raw_books = ~pl.col("book").str.starts_with("raw_")
    books = {
        kind: partial(pl.DataFrame.filter, predicates=of_raw_books)
        for kind in ("portfolio", "positions", "pnl", "trades")
    }
    full = build_seal(str(seal(tmp_path, run, 1)), tmp_path / "whole")
    without = {kind: run.tables[kind].filter(of_raw_books) for kind in books}
    plain = replace(run, tables={**run.tables, **without, "decisions": run.tables["decisions"].drop(raw)})
    build_seal(str(seal(tmp_path, plain, 2)), tmp_path / "plain")
    digests = [datasets.open(tmp_path / name)[ALPHA].manifest.weekly_digests for name in ("whole", "plain")]
    assert full.changed
    assert digests[0] == digests[1]
