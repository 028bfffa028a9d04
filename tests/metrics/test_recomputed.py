"""From sealed files to served figures, compared with pandas, SciPy and statsmodels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.metrics.recomputed import Published, Recomputed, compare, middle, serving
from tests.support import seals


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """Two simulated runs, with and without sealed figures."""
    folder = tmp_path_factory.mktemp("recomputed")
    result = {
        "Test_stated": seals.make_seal(folder, alpha_id="Test_stated", weeks=60),
        "Test_silent": seals.make_seal(folder, alpha_id="Test_silent", weeks=60, seed=4, metrics=False),
    }
    yield from serving(result, folder / "root")


@pytest.mark.parametrize("alpha", ["Test_stated", "Test_silent"])
def test_a_made_up_run_is_served_as_recomputed(small: Published, alpha: str) -> None:
    compare(small.data(alpha), Recomputed(small.folders[alpha]), sealed_test=alpha == "Test_stated")


@pytest.mark.parametrize("alpha", ["Test_stated", "Test_silent"])
def test_a_window_of_a_made_up_run_is_served_as_recomputed_on_its_rows(small: Published, alpha: str) -> None:
    first, last = middle(small.folders[alpha])
    run = Recomputed(small.folders[alpha], first, last)
    compare(small.data(alpha, f"panel=1&from={first}&to={last}"), run)
