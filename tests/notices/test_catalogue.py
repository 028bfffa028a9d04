"""A run compared with others of its catalogue."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import datasets
from datasets.layout import PROBE, alpha_path, pointer_path
from datasets.pointer import Pointer
from datasets.provenance.audit import Reader, audit_entries
from datasets.storage import open_storage
from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market, write_seal
from pipeline.housekeeping.verify import verify
from pipeline.notices.catalogue import catalogue_notices, compare, served_probes
from pipeline.notices.probe import NO_SAMPLE, Probe, ProbeDamaged, Sample, days_by_digest, name_digest
from pipeline.snapshot_builder import build_seal
from schemas.errors import StorageUnavailable
from schemas.notices.catalogue import TOO_FEW_OTHERS

RETURNS, PRICES = "catalogue.forward_returns", "catalogue.prices"


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(9, 30, 40)


def seal_of(market: Market, folder: Path, name: str, half_life: float, change: Any = None) -> Path:
    spec = AlphaSpec(name, "momentum", half_life, raw=False)
    run = run_alpha(market, spec)
    tables = {kind: table for kind, table in run.tables.items() if change is None or kind != "trades"}
    if change is not None:
        tables["decisions"] = change(tables["decisions"])
    return write_seal(folder / name, RunRecord(run.manifest, tables, None, None, None))


@pytest.fixture(scope="module")
def others(market: Market, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others")
    for number, half_life in enumerate((1.0, 2.0, 4.0, 8.0)):
        build_seal(str(seal_of(market, folder / "seals", f"other_{number}", half_life)), folder / "root")
    return folder / "root"


@pytest.fixture
def root(others: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(others, tmp_path / "root"))


def noticed(seal: Path, root: Path) -> dict[str, dict[str, Any]]:
    result = build_seal(str(seal), root)
    actual = datasets.open(root)[result.alpha_id].manifest.notices
    return {entry["notice"]: dict(entry) for entry in actual if entry["notice"].startswith("catalogue.")}


def dealt_out(frame: pl.DataFrame) -> pl.DataFrame:
    """Reassign the forward returns of each week to other names."""
    return frame.with_columns(pl.col("forward_return").shift(7).over("date", order_by="symbol"))


def test_an_honest_run_agrees_with_other_runs(market: Market, tmp_path: Path, root: Path) -> None:
    result = noticed(seal_of(market, tmp_path, "honest", 3.0), root)
    for notice in (RETURNS, PRICES):
        assert (result[notice]["outcome"], result[notice]["value"]) == ("pass", 0.0)
        assert result[notice]["details"]["cells"] > 100
        assert result[notice]["details"]["alphas"] == ["other_0", "other_1", "other_2", "other_3"]


def test_forward_returns_of_other_names_are_contradicted(market: Market, tmp_path: Path, root: Path) -> None:
    result = noticed(seal_of(market, tmp_path, "forged", 3.0, dealt_out), root)
    assert result[PRICES]["outcome"] == "pass"
    entry = result[RETURNS]
    assert entry["outcome"] == "notice"
    assert entry["value"] > 0.7
    assert entry["details"]["alphas"] == ["other_0", "other_1", "other_2", "other_3"]
    assert "other_0, other_1, other_2, other_3" in entry["message"]


def test_prices_of_another_market_are_contradicted_and_another_level_is_not(
    market: Market, tmp_path: Path, root: Path
) -> None:
    half = replace(market, opens=market.opens / 2, closes=market.closes / 2)
    assert noticed(seal_of(half, tmp_path, "split", 3.0), root)[PRICES]["value"] == 0.0
    closes = market.closes * np.exp(np.random.default_rng(1).normal(0, 0.02, market.closes.shape))
    result = noticed(seal_of(replace(market, closes=closes), tmp_path, "invented", 3.0), root)
    assert result[PRICES]["outcome"] == "notice"


@pytest.mark.parametrize(("minutes", "outcomes"), [(0, ("notice", "notice")), (390, ("pass", "not_checked"))])
def test_fills_at_the_close_are_not_compared_with_those_at_the_open(
    market: Market, tmp_path: Path, root: Path, minutes: int, outcomes: tuple[str, str]
) -> None:
    run = run_alpha(replace(market, opens=market.closes), AlphaSpec("closing", "momentum", 3.0, raw=False))
    dated = cs.datetime() + pl.duration(minutes=minutes)
    tables = {
        kind: rows.with_columns(dated) if kind in ("decisions", "trades") else rows
        for kind, rows in run.tables.items()
    }
    seal = write_seal(tmp_path / "closing", RunRecord(run.manifest, tables, None, None, None))
    result = noticed(seal, root)
    assert (result[PRICES]["outcome"], result[RETURNS]["outcome"]) == outcomes


def test_a_run_of_another_universe_shares_no_names(tmp_path: Path, root: Path) -> None:
    strange = simulate_market(9, 30, 40)
    strange = replace(strange, symbols=tuple(f"X{name}" for name in strange.symbols))
    result = noticed(seal_of(strange, tmp_path, "strange", 3.0), root)
    assert {entry["outcome"] for entry in result.values()} == {"not_checked"}


def test_two_other_runs_are_too_few(market: Market, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        result = noticed(seal_of(market, tmp_path / "seals", name, 2.0), tmp_path / "root")
        assert {entry["outcome"] for entry in result.values()} == {"not_checked"}


def test_a_reader_of_no_other_run_does_not_learn_which_sessions_they_share(root: Path) -> None:
    periods = tuple(f"2024-01-0{day} 2024-01-0{day + 1}" for day in range(1, 6))
    probe = Probe(Sample(tuple("ABCDE"), periods, np.zeros((5, 5))), NO_SAMPLE, NO_SAMPLE)
    notices = tuple(outcome.to_dict() for outcome in compare(probe, dict.fromkeys(("a", "b", "c"), probe)))
    manifest = replace(datasets.open(root)["other_0"].manifest, notices=notices)

    def reasons(*readable: str) -> dict[str, Any]:
        entries = audit_entries(manifest, Reader(raw=False, may_read=readable.__contains__))
        return {entry["id"]: entry["reason"] for entry in entries if entry["kind"] == "notice"}

    too_few = "no name has 8 sessions that other runs share"
    no_returns = {RETURNS: "the run has no forward returns to compare"}
    assert reasons("a", "b", "c") == {PRICES: None, "catalogue.one_name": too_few, **no_returns}
    assert reasons() == {PRICES: TOO_FEW_OTHERS, "catalogue.one_name": TOO_FEW_OTHERS, **no_returns}


def test_withdrawn_runs_do_not_take_the_places_of_served_ones(root: Path) -> None:
    pointer = Pointer.decode((root / pointer_path("other_0")).read_bytes(), "other_0")
    for name in (f"gone_{number}" for number in range(60)):
        (root / alpha_path(name)).mkdir()
        withdrawn = replace(pointer, alpha_id=name, withdrawn=pointer.snapshot)
        (root / pointer_path(name)).write_bytes(withdrawn.encode())
    served = [f"other_{number}" for number in range(4)]
    assert list(served_probes(open_storage(str(root)), "honest")) == served


def test_a_damaged_probe_is_skipped_and_reported_by_verify(root: Path) -> None:
    snapshot = datasets.open(root)["other_0"]
    (probe,) = root.rglob(f"alpha_id=other_0/**/{PROBE}")
    probe.chmod(0o644)
    probe.write_bytes(b"{}")
    storage = open_storage(str(root))
    assert list(served_probes(storage, "other_3")) == ["other_1", "other_2"]
    faults = verify(storage, "other_0").faults
    assert [fault.check for fault in faults if fault.file.endswith(PROBE)]
    assert "probe" in {file.dataset for file in snapshot.manifest.files}
    assert not verify(storage, "other_1").faults


def test_a_store_that_does_not_answer_fails_no_build(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage(str(root))

    def away(_: str) -> list[str]:
        raise StorageUnavailable("it is away")

    monkeypatch.setattr(storage, "entries", away)
    probe = Probe(*[Sample(("A",), ("2024-01-05 2024-01-12",), np.zeros((1, 1)))] * 3)
    outcomes = {(entry.outcome, entry.reason) for entry in catalogue_notices(storage, "x", probe)}
    reason = "the other runs of the catalogue could not be read: StorageUnavailable"
    assert outcomes == {("not_checked", reason)}


def test_a_probe_round_trips() -> None:
    table = np.array([[0.0123456789, np.nan], [np.nan, np.inf], [np.nan, np.nan]])
    sample = Sample.of(["B", "A", "C"], ["2024-01-05 2024-01-12", "2024-01-12 2024-01-19"], table)
    assert (sample.names, sample.periods) == (("B",), ("2024-01-05 2024-01-12",))
    dated = replace(sample, hours=np.array([[np.nan, 473_000.0]]))
    probe = Probe(sample, Sample.of([], [], np.empty((0, 0))), dated)
    again = Probe.decode(probe.encode())
    assert again.encode() == probe.encode()
    assert again.marks.returns.tolist() == [[0.012346]]
    for damaged in (b"", b"[]", b'{"format": 2}', probe.encode().replace(b"0.012346", b'"x"')):
        with pytest.raises(ProbeDamaged):
            Probe.decode(damaged)


def test_runs_sample_the_same_shared_cells() -> None:
    names = [f"N{number}" for number in range(500)]
    few, many = (set(sorted(some, key=name_digest)[:64]) for some in (names[:200], names))
    assert many & set(names[:200]) <= few
    days = np.arange(19_000, 20_000)
    last = days[days_by_digest(days)[:32]]
    part = days[300:]
    assert set(last[last >= 19_300].tolist()) <= set(part[days_by_digest(part)[:32]].tolist())
    assert len(set((last % 7).tolist())) > 4
