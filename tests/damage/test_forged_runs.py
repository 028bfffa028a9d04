"""Consistently forged runs, from seal to served answer: refused, or served with notices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from examples.reference_engine import RunRecord, write_seal
from pipeline.snapshot_builder import build_seal
from schemas.errors import SealRefused
from tests.reconciliation.forged_runs import FORGERIES, honest
from tests.support.client import ApiClient

REFUSED = (
    "forward returns in the order of the scores",
    "scores are the forward returns, the books are as they were",
    "one book is marked at prices of its own",
    "trials without the run itself",
)
NOTICED = {
    "Test_untraded": "forward returns in the order of the scores, at instants without a fill",
    "Test_foresight": "scores are the forward returns, and the books follow",
    "Test_bargains": "fills at prices a little better",
    "Test_figures": "figures without a table",
}


def sealed(record: RunRecord, folder: Path, alpha_id: str) -> str:
    named = replace(record, manifest={**record.manifest, "alpha_id": alpha_id})
    return str(write_seal(folder / alpha_id, named))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    build_seal(sealed(honest(), folder, "Test_honest"), folder / "root")
    for alpha_id, forgery in NOTICED.items():
        build_seal(sealed(FORGERIES[forgery][0](), folder, alpha_id), folder / "root")
    return folder / "root"


@pytest.mark.parametrize("forgery", REFUSED)
def test_a_forgery_that_a_rule_refuses_is_never_served(forgery: str, tmp_path: Path) -> None:
    make, rules = FORGERIES[forgery]
    with pytest.raises(SealRefused) as refused:
        build_seal(sealed(make(), tmp_path, "Test_refused"), tmp_path / "root")
    assert {violation["rule"] for violation in refused.value.violations} & rules
    assert not list((tmp_path / "root").rglob("*.parquet"))


@pytest.mark.parametrize("alpha_id", NOTICED)
def test_a_noticed_forgery_shows_its_notice_first_everywhere(api: ApiClient, alpha_id: str) -> None:
    key = api.key()
    audit = api.json(f"/v1/alphas/{alpha_id}/audit", key)["data"]
    given = [entry["id"] for entry in audit["entries"] if entry["status"] == "notice"]
    assert set(given) & FORGERIES[NOTICED[alpha_id]][1]
    assert audit["entries"][0]["status"] in {"withheld", "notice"}
    notices = audit["summary"]["checked"]["notices"]
    assert notices > 0
    assert api.json(f"/v1/alphas/{alpha_id}/metrics", key)["data"]["checked"]["notices"] == notices
    rows = api.json("/v1/screen?fields=information_ratio", key)["data"]
    (row,) = [row for row in rows if row["alpha_id"] == alpha_id]
    assert row["checked"]["notices"] == notices


def test_an_honest_run_beside_forgeries_has_no_notice(api: ApiClient) -> None:
    audit = api.json("/v1/alphas/Test_honest/audit", api.key())["data"]
    assert [entry["id"] for entry in audit["entries"] if entry["status"] == "notice"] == []
    assert audit["summary"]["checked"]["notices"] == 0
