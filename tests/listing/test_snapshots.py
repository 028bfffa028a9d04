"""Kept snapshots of an alpha, and their comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from datasets.publication.pointers import served
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.metrics.headline import IN_METRICS
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.pipeline_command import run_pipeline
from tests.support.seals import make_seal, rewrite

LATER = "2026-02-05T07:30:00Z"
ALPHA = "Test_small"


def changed_raw_alone(seal: Path) -> Path:
    """Change only one raw score of a seal."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        last = pl.int_range(pl.len()) == rows["unsmoothed_score"].is_not_null().arg_true().max()
        return rows.with_columns(
            pl.when(last)
            .then(pl.col("unsmoothed_score") + 1e-3)
            .otherwise(pl.col("unsmoothed_score"))
            .alias("unsmoothed_score")
        )

    return rewrite(seal, "decisions", change)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshots")


@pytest.fixture(scope="module")
def ids(folder: Path) -> list[str]:
    """Publish one alpha three times: first another market, then only another raw score."""
    seals = (
        make_seal(folder / "first"),
        make_seal(folder / "second", seed=9, weeks=32, sealed_at=LATER),
        changed_raw_alone(make_seal(folder / "third", seed=9, weeks=32, sealed_at="2026-02-06T07:30:00Z")),
    )
    return [build_seal(str(seal), folder / "root").snapshot for seal in seals]


@pytest.fixture(scope="module")
def api(folder: Path, ids: list[str]) -> Iterator[ApiClient]:
    assert ids
    with running(folder / "root") as api:
        yield api


def compared(api: ApiClient, token: str, before: str, after: str) -> Any:
    path = f"/v1/alphas/{ALPHA}/snapshots/compare?from_snapshot={before}&to_snapshot={after}"
    return api.json(path, token)["data"]


def rows_of(api: ApiClient, token: str, snapshot: str) -> pl.DataFrame:
    results: list[dict[str, Any]] = []
    while True:
        path = f"/v1/alphas/{ALPHA}/scores?fields=all&snapshot={snapshot}&limit=5000&offset={len(results)}"
        body = api.json(path, token)
        results += body["data"]
        if not body["pagination"]["has_more"]:
            return pl.DataFrame(results, infer_schema_length=None)


def test_snapshots_are_listed_newest_first_with_their_seals(api: ApiClient, ids: list[str]) -> None:
    body = api.json(f"/v1/alphas/{ALPHA}/snapshots", api.key())
    rows = body["data"]
    assert [row["snapshot"] for row in rows] == ids[::-1]
    assert [row["served"] for row in rows] == [True, False, False]
    assert [row["replaced_at"] for row in rows] == [None, rows[0]["published_at"], rows[1]["published_at"]]
    assert [row["sealed_at"] for row in rows] == ["2026-02-06T07:30:00Z", LATER, "2026-01-05T07:30:00Z"]
    assert all(row["complete"] and row["built_with"][0].startswith("polars ") for row in rows)
    for row in rows:
        path = f"/v1/alphas/{ALPHA}/metrics?snapshot={row['snapshot']}"
        assert api.json(path, api.key())["meta"]["published_at"] == row["published_at"]


@pytest.mark.parametrize("raw", [False, True])
def test_a_comparison_agrees_with_a_loop_over_all_rows(api: ApiClient, ids: list[str], raw: bool) -> None:
    token = api.key(raw=raw)
    for before, after in ((ids[0], ids[1]), (ids[1], ids[0]), (ids[1], ids[2]), (ids[0], ids[0])):
        result = compared(api, token, before, after)
        assert (result["from_snapshot"], result["to_snapshot"]) == (before, after)
        one, other = (
            {(row["date"], row["symbol"]): row for row in rows_of(api, token, x).iter_rows(named=True)}
            for x in (before, after)
        )
        differing = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
        for place, spans in ((0, result["weeks"]), (1, result["names"])):
            was, now = {key[place] for key in one}, {key[place] for key in other}
            assert spans["added"] == sorted(now - was)
            assert spans["removed"] == sorted(was - now)
            assert spans["changed"] == sorted({key[place] for key in differing} & was & now)
        tables = {(x["dataset"], x["book"]): x for x in result["datasets"]}
        assert (tables["decisions", None]["change"] == "changed") == bool(differing)
        assert tables["decisions", None]["rows_after"] == len(other)


def test_figures_before_and_after_match_the_metrics(api: ApiClient, ids: list[str]) -> None:
    token = api.key()
    result = compared(api, token, ids[0], ids[1])
    metrics = [
        api.json(f"/v1/alphas/{ALPHA}/metrics?snapshot={one}", token)["data"]["core"] for one in ids[:2]
    ]
    assert [x["figure"] for x in result["figures"]] == [x.name for x in IN_METRICS]
    assert not [x for x in result["figures"] if x["figure"].endswith("_raw")]
    for row in result["figures"]:
        if row["figure"] not in metrics[0]:
            continue
        before, after = (one[row["figure"]]["value"] for one in metrics)
        assert (row["before"], row["after"]) == (before, after)
        assert row["change"] == after - before
        assert row["book"] == (None if row["figure"] in ("ic", "icir") else "long_short")
    assert result["withheld"] == {}


def test_a_change_of_the_raw_signal_is_shown_only_with_raw_access(api: ApiClient, ids: list[str]) -> None:
    plain, raw = (compared(api, api.key(raw=x), ids[1], ids[2]) for x in (False, True))
    assert plain["weeks"]["changed"] == plain["names"]["changed"] == []
    assert len(raw["weeks"]["changed"]) == 1
    assert raw["names"]["changed"], "the z-scores of the whole week follow"
    tables = {x["dataset"]: x["change"] for x in plain["datasets"] if x["dataset"] == "decisions"}
    assert tables == {"decisions": "unchanged"}
    assert not [x for x in plain["datasets"] if (x["book"] or "").startswith("raw_")]
    assert [x for x in raw["datasets"] if (x["book"] or "").startswith("raw_")]


def test_tables_without_access_are_withheld_from_the_comparison(api: ApiClient, ids: list[str]) -> None:
    token = api.key(endpoints="research.snapshots.compare,portfolio.ledger")
    result = compared(api, token, ids[0], ids[1])
    assert (result["figures"], result["weeks"], result["names"]) == ([], None, None)
    assert set(result["withheld"]) == {"figures", "weeks", "names"}
    assert {x["dataset"] for x in result["datasets"]} == {"portfolio"}


def test_without_ids_the_served_one_is_compared_with_the_one_before_it(
    api: ApiClient, ids: list[str]
) -> None:
    result = api.json(f"/v1/alphas/{ALPHA}/snapshots/compare", api.key())["data"]
    assert (result["from_snapshot"], result["to_snapshot"]) == (ids[1], ids[2])
    path = f"/v1/alphas/{ALPHA}/snapshots/compare?to_snapshot={ids[0]}"
    assert api.json(path, api.key())["data"]["from_snapshot"] == ids[0]


@pytest.mark.parametrize("wanted", ["0" * 20, "nonsense", "..", ""])
def test_a_missing_snapshot_is_a_404_with_the_served_one(api: ApiClient, ids: list[str], wanted: str) -> None:
    path = f"/v1/alphas/{ALPHA}/snapshots/compare?from_snapshot={wanted or '%20'}"
    error = api.json(path, api.key(), 404)["error"]
    assert error["code"] == "snapshot_not_found"
    assert error["details"] == {"current": ids[2]}


def test_the_empty_snapshot_of_a_withdrawal_is_neither_listed_nor_read(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path / "seal", weeks=14)), tmp_path / "root")
    for command in ("withdraw", "restore"):
        assert run_pipeline(command, tmp_path / "root", ALPHA).exit_code == 0
    pointer = served(open_storage(tmp_path / "root"), ALPHA)
    assert pointer is not None
    (empty,) = pointer.earlier
    with running(tmp_path / "root") as api:
        rows = api.json(f"/v1/alphas/{ALPHA}/snapshots", api.key())["data"]
        assert [row["snapshot"] for row in rows] == [pointer.snapshot]
        for path in (f"rebalances?snapshot={empty}", f"snapshots/compare?from_snapshot={empty}"):
            error = api.json(f"/v1/alphas/{ALPHA}/{path}", api.key(), 404)["error"]
            assert (error["code"], error["details"]) == ("snapshot_not_found", {"current": pointer.snapshot})


def test_snapshots_removed_by_gc_are_not_listed(tmp_path: Path) -> None:
    first = build_seal(str(make_seal(tmp_path / "first")), tmp_path / "root").snapshot
    second = build_seal(str(make_seal(tmp_path / "second", seed=9, sealed_at=LATER)), tmp_path / "root")
    assert run_pipeline("gc", tmp_path / "root", "--keep", "1", "--grace", "0s").exit_code == 0
    with running(tmp_path / "root") as api:
        rows = api.json(f"/v1/alphas/{ALPHA}/snapshots", api.key())["data"]
        assert [row["snapshot"] for row in rows] == [second.snapshot] != [first]
