"""Small published roots: two built alphas, and tiny ones written without the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from datasets.publication.pointers import Published
from datasets.storage import Storage
from pipeline.snapshot_builder import build_seal
from tests.support import published
from tests.support.seals import make_seal

Publish = Callable[..., Published]
ONE, OTHER = "Test_one", "Test_other"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return an empty datasets root."""
    return tmp_path / "published"


@pytest.fixture
def publish(root: Path) -> Publish:
    """Return a function that publishes a tiny alpha whose weeks all hold `n_symbols` names."""

    def _publish(
        alpha: str = "Test_tiny",
        *,
        n_symbols: int = 3,
        sealed_at: str = "2026-01-01T00:00:00Z",
        started_at: str = "2026-01-01T00:00:00Z",
        force: bool = False,
        address: str | Path | Storage | None = None,
    ) -> Published:
        weeks = pl.DataFrame(
            {"date": [date(2020, 1, 3), date(2020, 1, 10)], "week_status": "traded", "n_symbols": n_symbols}
        )
        day = pl.DataFrame(
            {"date": [date(2020, 1, 6)], "symbol": ["A"], "quantity": [1.0], "mark_price": [2.0]}
        )
        held = day.with_columns(signed_notional=pl.lit(2.0), weight=pl.lit(0.5))
        return published.publish(
            address or root,
            {"rebalances": weeks, "positions": {"long_short": held, "long_only": held}},
            alpha_id=alpha,
            description={"name": "Tiny", "tldr": f"{n_symbols} names"},
            started_at=started_at,
            sealed_at=sealed_at,
            name="Tiny",
            force=force,
        )

    return _publish


@pytest.fixture(scope="session")
def two_alphas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root with two built alphas, the second without some columns."""
    # must be quoted in SQL, and must not act as a pattern in Polars
    folder = tmp_path_factory.mktemp("it's [1] root*")
    build_seal(str(make_seal(folder, alpha_id=ONE)), folder / "published")
    build_seal(
        str(
            make_seal(folder, alpha_id=OTHER, seed=2, raw=False, without_columns={"decisions": ["entry_at"]})
        ),
        folder / "published",
    )
    return folder / "published"
