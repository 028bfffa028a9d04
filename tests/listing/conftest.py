"""One root of alphas with different kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.snapshot_builder import build_seal
from tests.support.client import ApiClient
from tests.support.contract_app import LEFT_OUT, rowless
from tests.support.seals import make_seal, rewrite


def _without_own_figures(seal: Path) -> Path:
    """Remove half of the sealed records, so that those figures are computed."""

    def change(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "records": document["records"][::2]}

    return rewrite(seal, "metrics", change)


def _tagged(seal: Path, *tags: str) -> Path:
    def change(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "classification": {**document.get("classification", {}), "tags": list(tags)}}

    return rewrite(seal, "description", change)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listing")
    seals = (
        _tagged(
            make_seal(folder, alpha_id="Test_full", started_at="2026-01-05T06:00:00Z"), "Weekly", "price"
        ),
        make_seal(folder, alpha_id="Test_computed", metrics=False, seed=2, started_at="2026-01-04T06:00:00Z"),
        _without_own_figures(make_seal(folder, alpha_id="Test_half", signal="reversal", seed=3)),
        make_seal(folder, alpha_id="Test_money", equity_basis=1e6, metrics=False, seed=4),
        make_seal(
            folder,
            alpha_id="Test_plain",
            raw=False,
            description=False,
            without_columns={"decisions": LEFT_OUT},
        ),
        make_seal(folder, alpha_id="Test_undecided", without_kinds={"decisions"}, metrics=False),
        rowless(make_seal(folder, alpha_id="Test_rowless", metrics=False)),
        make_seal(folder, alpha_id="Prod_twin", started_at="2026-01-05T06:00:00Z"),
    )
    published = folder / "published"
    for seal in seals:
        build_seal(str(seal), published)
    return published


@pytest.fixture(scope="module")
def token(api: ApiClient) -> str:
    return api.key()
