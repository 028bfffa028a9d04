"""Seals of the reference engine, read back from their files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.seals import make_seal

VARIANTS: dict[str, dict[str, Any]] = {
    "momentum": {"tried": (1.0, 4.0)},
    "momentum_other_seed": {"seed": 7, "names": 40, "weeks": 40},
    "reversal_in_money": {"signal": "reversal", "half_life_weeks": 1.0, "equity_basis": 1e6, "ranks": True},
    "plain_low_volatility": {
        "signal": "low_volatility",
        "half_life_weeks": None,
        "raw": False,
        "pending": False,
        "skipped": False,
        "seed": 3,
    },
}


@dataclass(frozen=True)
class Files:
    """One seal, every file of it."""

    folder: Path
    manifest: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    metrics: list[dict[str, Any]]

    def __getitem__(self, kind: str) -> pl.DataFrame:
        return self.tables[kind]

    @property
    def basis(self) -> float:
        return float(self.manifest["equity_basis"])


def read(folder: Path) -> Files:
    manifest = json.loads((folder / "seal.json").read_text())
    kinds = manifest["kinds"]
    return Files(
        folder=folder,
        manifest=manifest,
        tables={
            kind: pl.read_parquet(folder / entry["path"])
            for kind, entry in kinds.items()
            if entry["path"].endswith(".parquet")
        },
        metrics=json.loads((folder / "metrics.json").read_text())["records"],
    )


@pytest.fixture(scope="module", params=list(VARIANTS))
def seal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return read(make_seal(tmp_path_factory.mktemp("seal"), **VARIANTS[request.param]))


@pytest.fixture(scope="module")
def default_seal(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return read(make_seal(tmp_path_factory.mktemp("seal")))
