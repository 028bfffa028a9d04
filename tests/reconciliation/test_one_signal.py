"""For an unsmoothed run the raw figures are computed from its one signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import datasets
from pipeline.snapshot_builder import build_seal
from tests.support.client import ApiClient
from tests.support.seals import make_seal, rewrite

ONE, BOTH, UNTOLD = "Test_one_signal", "Test_both_signals", "Test_untold"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals")
    seals = [
        make_seal(folder, alpha_id=ONE, raw=False, half_life_weeks=None),
        make_seal(folder, alpha_id=BOTH, raw=True, half_life_weeks=None),
        make_seal(folder, alpha_id=UNTOLD, raw=False, half_life_weeks=2.0),
        thinned(make_seal(folder, alpha_id="Test_thinned", names=40)),
    ]
    for seal in seals:
        build_seal(str(seal), folder / "root")
    return folder / "root"


def thinned(seal: Path) -> Path:
    """Remove the raw signal from every tenth name, so that the cohorts differ."""
    tenth = pl.int_range(pl.len()) % 10 == 0
    rewrite(
        seal,
        "decisions",
        lambda frame: frame.with_columns(pl.when(~tenth).then("unsmoothed_score").alias("unsmoothed_score")),
    )
    return rewrite(
        seal,
        "metrics",
        lambda document: {"records": [x for x in document["records"] if "raw" not in x["name"]]},
    )


def metrics(api: ApiClient, alpha: str) -> dict[str, Any]:
    result: dict[str, Any] = api.json(f"/v1/alphas/{alpha}/metrics?panel=1", api.key())["data"]
    return result


def test_deciles_panel_and_raw_figures_are_computed_from_the_score(api: ApiClient) -> None:
    one, both = metrics(api, ONE), metrics(api, BOTH)
    assert one["ic_deciles"]["score_field"] == "score"
    assert one["ic_deciles"]["buckets"] == both["ic_deciles"]["buckets"]
    assert one["panel"] == both["panel"]
    assert one["panel"]["ic_term_structure"][0]["weeks"] > 0
    assert one["nwt"]["ic_score_panel"] == both["nwt"]["ic_score_panel"]
    for name in ("ic", "icir"):
        assert one["rank_ic"]["raw"][name]["value"] == pytest.approx(both["rank_ic"]["raw"][name]["value"])


def test_rows_have_no_unsealed_raw_field(root: Path) -> None:
    assert not [name for name in datasets.open(root)[ONE].columns("decisions") if name.startswith("raw_")]
    assert "raw_score" in datasets.open(root)[BOTH].columns("decisions")


def test_a_smoothed_run_without_a_raw_signal_has_no_raw_figures(api: ApiClient) -> None:
    result = metrics(api, UNTOLD)
    assert result["ic_deciles"] is result["panel"] is None


def test_the_panels_counts_belong_to_its_signal(api: ApiClient, root: Path) -> None:
    coverage = metrics(api, "Test_thinned")["panel"]["coverage"]
    decisions = datasets.open(root)["Test_thinned"].scan("decisions").collect()
    traded = (
        datasets.open(root)["Test_thinned"]
        .scan("rebalances")
        .collect()
        .filter(pl.col("week_status") == "traded")
    )
    weeks = decisions.join(traded.select("date"), on="date", how="semi").group_by("date").agg(
        cohort=pl.col("raw_score").count(),
        both=(pl.col("raw_score").is_not_null() & pl.col("forward_return").is_not_null()).mean(),
        scored=pl.col("score").count(),
    )  # fmt: skip
    assert coverage["mean_cohort_size"] == pytest.approx(weeks["cohort"].mean())
    assert coverage["mean_share_with_return"] == pytest.approx(weeks["both"].mean())
    assert weeks["cohort"].mean() != weeks["scored"].mean()
