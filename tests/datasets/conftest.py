"""Small published roots: two built alphas, and tiny ones written without the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from datasets.layout import DESCRIPTION, table_path
from datasets.manifest import FileEntry, Manifest, digest, encode
from datasets.publication.pointers import Published
from datasets.publication.publish import Publication
from datasets.storage import Storage, open_storage
from datasets.storage.file_digests import file_digest
from pipeline.snapshot_builder import build_seal
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
        storage = address if isinstance(address, Storage) else open_storage(address or root)
        with Publication(storage, alpha) as publication:
            manifest = _write(publication.folder, alpha, n_symbols, sealed_at, started_at)
            return publication.commit(manifest, {"name": "Tiny"}, force=force)

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


def _write(folder: Path, alpha: str, n_symbols: int, sealed_at: str, started_at: str) -> Manifest:
    weeks = pl.DataFrame(
        {"date": [date(2020, 1, 3), date(2020, 1, 10)], "week_status": "traded", "n_symbols": n_symbols}
    )
    day = pl.DataFrame({"date": [date(2020, 1, 6)], "symbol": ["A"], "quantity": [1.0], "mark_price": [2.0]})
    held = day.with_columns(signed_notional=pl.lit(2.0), weight=pl.lit(0.5))
    files = []
    for dataset, book, rows in (
        ("rebalances", None, weeks),
        ("positions", "long_short", held),
        ("positions", "long_only", held),
    ):
        path = folder / table_path(dataset, book)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.write_parquet(path)
        files.append(
            FileEntry(
                table_path(dataset, book), dataset, book, rows.height, path.stat().st_size, file_digest(path)
            )
        )
    text = encode({"name": "Tiny", "tldr": f"{n_symbols} names"})
    (folder / DESCRIPTION).write_bytes(text)
    files.append(FileEntry(DESCRIPTION, "description", None, 0, len(text), digest(text)))
    kinds = ("description", "rebalances", "positions")
    return Manifest(
        alpha_id=alpha,
        snapshot="",
        sealed_at=sealed_at,
        started_at=started_at,
        schema_version="test",
        source_alpha_id="research",
        seal_digest="0" * 64,
        equity_basis=1.0,
        smoothing=None,
        engine={},
        kinds=kinds,
        missing=("decisions",),
        columns={
            "rebalances": ("date", "week_status", "n_symbols"),
            "positions": ("book", "date", "symbol", "quantity", "mark_price", "signed_notional", "weight"),
        },
        files=tuple(files),
    )
