"""Risk figures match quantstats and skfolio, installed in a separate environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from datasets.figures.risk import risk
from tests.importers.conftest import NAMES, Run


def test_risk_figures_match_quantstats_and_skfolio(run_in: Callable[[str], Run], tmp_path: Path) -> None:
    report = run_in("skfolio==1.12.2 quantstats==0.0.86")("with_risk_libraries.py", tmp_path)
    closes = pl.read_parquet(tmp_path / "closes.parquet").head(102)
    days = closes["date"].to_numpy().astype("datetime64[D]")
    for name in NAMES:
        equity = closes[name].to_numpy()
        figures = risk(days[1:], equity[:-1], equity[1:])
        drawdowns = figures["drawdowns"]
        figures["max_drawdown_pct"] = drawdowns[0]["depth_pct"]
        listed = report[name]["quantstats"].pop("drawdowns")
        for library, expected in report[name].items():
            for figure, value in expected.items():
                assert figures[figure] == pytest.approx(value, rel=1e-9), (name, library, figure)
        assert [(x["start"], x["trough"]) for x in drawdowns] == [(x[0], x[1]) for x in listed[:10]]
        assert np.array([x["depth_pct"] for x in drawdowns]) == pytest.approx([-x[2] for x in listed[:10]])
