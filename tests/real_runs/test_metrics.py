"""Served metrics of the real runs equal those of pandas, SciPy and statsmodels from their sealed files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.metrics.recomputed import Published, Recomputed, compare, middle, same, serving

REAL = ("Test_sp500_momentum", "Test_sp500_reversal", "sp500_lowvol")


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folders = {alpha: shared / "seals" / alpha for alpha in REAL}
    yield from serving(folders, tmp_path_factory.mktemp("real") / "root")


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
