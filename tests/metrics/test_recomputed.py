"""From sealed files to served figures, compared with pandas, SciPy and statsmodels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.snapshot_builder import build_seal
from tests.metrics.recomputed import Recomputed
from tests.support import seals
from tests.support.application import running
from tests.support.client import ApiClient

REAL = ("Test_sp500_momentum", "Test_sp500_reversal", "sp500_lowvol")


def same(value: Any, *, rel: float = 1e-10, abs_: float = 1e-12) -> Any:
    if isinstance(value, dict):
        return {key: same(member, rel=rel, abs_=abs_) for key, member in value.items()}
    if isinstance(value, list):
        return [same(member, rel=rel, abs_=abs_) for member in value]
    return pytest.approx(value, rel=rel, abs=abs_) if isinstance(value, float) else value


class Published:
    """Seals, published and served."""

    def __init__(self, folders: dict[str, Path], api: ApiClient) -> None:
        self.folders = folders
        self.api = api
        self.key = api.key()

    def data(self, alpha: str, query: str = "panel=1") -> Any:
        return self.api.json(f"/v1/alphas/{alpha}/metrics?{query}", self.key)["data"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Two simulated runs, with and without sealed figures."""
    folder = tmp_path_factory.mktemp("recomputed")
    result = {
        "Test_stated": seals.make_seal(folder, alpha_id="Test_stated", weeks=60),
        "Test_silent": seals.make_seal(folder, alpha_id="Test_silent", weeks=60, seed=4, metrics=False),
    }
    yield from serving(result, folder / "root")


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folders = {alpha: shared / "seals" / alpha for alpha in REAL}
    yield from serving(folders, tmp_path_factory.mktemp("real") / "root")


def serving(folders: dict[str, Path], root: Path) -> Iterator[Published]:
    root.mkdir()
    for seal in folders.values():
        build_seal(str(seal), root)
    with running(root) as api:
        yield Published(folders, api)


def compare(data: Any, run: Recomputed, *, sealed_test: bool = True) -> None:
    """Compare every computed figure of an answer with the recomputation on the same window."""
    if data["within_window"] is not None:
        within = data["within_window"]
        data = {**data, **within, "nwt": {**data["nwt"], **within["nwt"]}}
        assert all(_derived(entry) for entry in within["core"].values())
    core = {name: x["value"] for name, x in data["core"].items() if name in run.core and _derived(x)}
    assert core == same({name: run.core[name] for name in core})
    for family, entries in run.rank_ic.items():
        served = {name: x["value"] for name, x in data["rank_ic"][family].items() if _derived(x)}
        assert served == same({name: entries[name] for name in served})
    for block, expected in run.nwt.items():
        if block == "ic" and not sealed_test:
            continue
        actual = data["nwt"][block]
        assert {name: actual[name] for name in expected} == same(expected)
    if not run.raw:
        assert data["ic_deciles"] is data["panel"] is None
        return
    assert data["ic_deciles"]["buckets"] == same(run.buckets)
    panel = data["panel"]
    assert panel["ic_weekly"] == same(run.ic_weekly)
    assert panel["decile_spread_weekly"] == same(run.spreads)
    # Names whose prices moved by the same amount over several weeks, in different steps, are tied up to rounding: which
    # comes first depends on how the product is computed, and changes the mean of some hundred weeks by less than this.
    assert panel["ic_term_structure"] == same(run.term_structure, abs_=2e-6)
    assert panel["rank_autocorrelation"] == same(run.autocorrelation)


def _derived(entry: Any) -> bool:
    return bool(entry["source_kind"] == "derived")


def middle(folder: Path) -> tuple[str, str]:
    """Return a window inside the run: its second quarter and a little more."""
    days = sorted(str(day) for day in pl.read_parquet(folder / "portfolio.parquet")["date"].unique())
    return days[len(days) // 4], days[len(days) // 2 + 3]


@pytest.mark.parametrize("alpha", ["Test_stated", "Test_silent"])
def test_a_made_up_run_is_served_as_recomputed(small: Published, alpha: str) -> None:
    compare(small.data(alpha), Recomputed(small.folders[alpha]), sealed_test=alpha == "Test_stated")


@pytest.mark.parametrize("alpha", ["Test_stated", "Test_silent"])
def test_a_window_of_a_made_up_run_is_served_as_recomputed_on_its_rows(small: Published, alpha: str) -> None:
    first, last = middle(small.folders[alpha])
    run = Recomputed(small.folders[alpha], first, last)
    compare(small.data(alpha, f"panel=1&from={first}&to={last}"), run)


@pytest.mark.parametrize("alpha", REAL)
def test_a_real_run_is_served_as_recomputed(real: Published, alpha: str) -> None:
    data = real.data(alpha)
    compare(data, Recomputed(real.folders[alpha]), sealed_test=alpha != "Test_sp500_reversal")
    # The run without sealed figures has none to compare its weekly series with.
    assert (data["nwt"]["ic"] is None) == (alpha == "Test_sp500_reversal")


@pytest.mark.parametrize("alpha", REAL)
def test_a_window_of_a_real_run_is_served_as_recomputed_on_its_rows(real: Published, alpha: str) -> None:
    first, last = middle(real.folders[alpha])
    run = Recomputed(real.folders[alpha], first, last)
    compare(real.data(alpha, f"panel=1&from={first}&to={last}"), run)


@pytest.mark.parametrize("alpha", REAL)
def test_periods_of_a_real_run_are_what_their_days_give(real: Published, alpha: str) -> None:
    data = real.data(alpha, "granularity=yearly")
    for period in data["periods"]:
        year = period["period"]
        run = Recomputed(real.folders[alpha], f"{year}-01-01", f"{year}-12-31").core
        for name, entry in period["core"].items():
            # The only sealed figure whose yearly value has another meaning than that of the run: a total.
            if name in run and entry["unit"] != "period_sum":
                assert entry["value"] == same(run[name], rel=1e-9), (year, name)
