"""Preconditions of the benchmarks: valid distinct alphas, requests that never repeat, equal rows."""

from __future__ import annotations

import itertools
from pathlib import Path

import orjson
import polars as pl
import pytest

import datasets
from benchmarks.alphas import alpha_id, prepare
from benchmarks.alternating import rate_ratio
from benchmarks.same_rows import RowsDiffer, require_same
from benchmarks.table_downloads import measure_downloads, ratios_of
from benchmarks.workload import Call, Workload
from schemas.endpoints import ENDPOINTS
from tests.support.seals import make_seal

ALPHAS = 3
CALL = Call("Q4", 0, {"limit": 2})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    seal = make_seal(folder / "seal", weeks=14)
    return prepare(folder / "kept", seal=seal, alphas=ALPHAS, pointers=10, log=lambda _: None)


def test_clones_pass_every_rule_and_share_no_row(data: Path) -> None:
    root = datasets.open(data / "root")
    scores = [root[alpha_id(n)].scan("decisions").collect() for n in range(ALPHAS)]
    ledgers = [root[alpha_id(n)].scan("portfolio", "long_short").collect() for n in range(ALPHAS)]
    for one, other in itertools.combinations(scores, 2):
        assert one.height == other.height
        assert one.join(other, on=["date", "symbol", "score"]).is_empty()
    for one, other in itertools.combinations(ledgers, 2):
        assert one["date"].equals(other["date"])
        assert one.join(other, on=["date", "ending_equity"]).is_empty()


def test_the_larger_root_has_the_requested_alphas_and_peers_serve_them_all(data: Path) -> None:
    listed = pl.read_parquet(data / "peers" / "catalogue.parquet")
    assert listed.columns == ["place", *(x.name for x in ENDPOINTS["catalog.alphas.list"].payload.fields)]
    assert listed.height == len(datasets.open(data / "root")) == 10
    assert len(datasets.open(data / "few")) == ALPHAS


def test_existing_benchmark_data_are_reused(data: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*") if path.is_file()}
    seal = data.parent.parent / "seal" / "Test_small"
    assert prepare(data.parent, seal=seal, alphas=ALPHAS, pointers=10, log=lambda _: None) == data
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("query", ["Q1", "Q7", "Q8"])
def test_no_request_repeats(data: Path, query: str) -> None:
    calls = Workload(data, ALPHAS).distinct(query, "seed")
    paths = [call.path for call in itertools.islice(calls, 500)]
    assert len(set(paths)) == 500


def body(*rows: dict[str, object], summary: dict[str, object] | None = None) -> bytes:
    return orjson.dumps({"data": rows, "meta": {} if summary is None else {"summary": summary}})


@pytest.mark.parametrize(
    "theirs",
    [
        body({"a": 1.0, "b": True, "c": None}),
        body({"a": 1.0 + 1e-12, "b": 1}),
        orjson.dumps([{"a": 1, "b": True}]),
    ],
)
def test_rows_compare_equal_across_peers_formats(theirs: bytes) -> None:
    require_same(CALL, body({"a": 1.0, "b": True, "c": None}), theirs, "peer")


@pytest.mark.parametrize(
    ("theirs", "result"),
    [
        (body(), "0 rows instead of 1"),
        (body({"a": 1.001, "b": True}), "a is 1.001 instead of 1.0"),
        (body({"a": 1.0}), "b is None instead of True"),
        (body({"a": 1.0, "b": True, "z": 3}), "z not requested"),
    ],
)
def test_a_difference_is_reported(theirs: bytes, result: str) -> None:
    with pytest.raises(RowsDiffer, match=result):
        require_same(CALL, body({"a": 1.0, "b": True}), theirs, "peer")


def test_figures_are_compared_individually() -> None:
    def figures(value: float) -> bytes:
        return orjson.dumps({"data": {"headline": {"sharpe": value, "weeks": 3}}, "meta": {}})

    require_same(CALL, figures(1.0), figures(1.0 + 1e-12), "peer")
    with pytest.raises(RowsDiffer, match="headline is"):
        require_same(CALL, figures(1.0), figures(1.001), "peer")


def test_all_readers_of_a_table_get_the_same_values(data: Path) -> None:
    actual = measure_downloads(data / "few", alpha_id(0), 1, lambda _: None)
    expected = datasets.open(data / "few")[alpha_id(0)].scan("decisions").collect().height
    assert actual["rows"] == expected
    assert set(actual["readers"]) == {"client, by link", "client, by pages", "Arrow Flight"}
    assert len(list(ratios_of(actual))) == 2


def test_processor_time_per_answer_is_compared_by_medians_of_alternating_requests() -> None:
    order: list[str] = []

    class Up:
        def __init__(self, name: str, spent: list[float]) -> None:
            self.name, self.spent, self.used = name, iter(spent), 0.0

        def busy(self) -> float:
            return self.used

        def send(self) -> None:
            self.used += next(self.spent)
            order.append(self.name)

    hit, floor = Up("hit", [0.2, 0.2, 9.0]), Up("floor", [0.1, 0.1, 0.1])
    ratio = rate_ratio((hit, hit.send), (floor, floor.send), 60.0)
    assert ratio == pytest.approx(0.5), "half as many per processor second, in spite of one slow answer"
    assert order == ["floor", "hit", "hit", "floor", "floor", "hit"]
