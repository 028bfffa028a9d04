"""Every declared family of research figures, by API, files and verify."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

import datasets
from datasets.figure_data import read_evidence, read_luck
from datasets.figures.luck import LUCK, SEALED_BOOKS, Luck, measure
from datasets.figures.luck_evidence import LuckQuery
from datasets.figures.series import Window
from datasets.figures.withheld import settle
from datasets.layout import figures_path, snapshot_path
from datasets.storage import open_storage
from pipeline.housekeeping.verify import verify
from pipeline.snapshot_builder import build_seal, research
from schemas.endpoints import ENDPOINTS
from schemas.metrics.families import FAMILIES
from schemas.metrics.families.family import Family
from tests.support import seals
from tests.support.client import ApiClient
from tests.support.conformance import data_of

ALPHA = "Test_figures"
LACKING: dict[str, dict[str, Any]] = {
    "Test_no_trades": {"trades": False},
    "Test_no_positions": {"without_kinds": {"positions"}},
    "Test_no_pnl": {"without_kinds": {"pnl"}},
    "Test_no_ledger": {"without_kinds": {"portfolio", "positions", "pnl", "trades"}},
    "Test_no_decisions": {"without_kinds": {"decisions"}},
    "Test_no_rebalances": {"without_kinds": {"rebalances"}},
    "Test_no_raw": {"raw": False},
    "Test_no_returns": {"without_columns": {"decisions": ("forward_return",)}},
    "Test_short": {"weeks": 12, "skipped": False, "pending": False},
    "Test_nothing": {
        "without_kinds": {"decisions", "rebalances", "portfolio", "positions", "pnl", "trades"},
        "metrics": False,
    },
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)


def path(family: Family, alpha: str = ALPHA, **query: str) -> str:
    return f"/v1/alphas/{alpha}/{family.name}?" + "&".join(f"{name}={value}" for name, value in query.items())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    for alpha, changes in {ALPHA: {"weeks": 70}, **LACKING}.items():
        build_seal(str(seals.make_seal(folder / "seals", alpha_id=alpha, **changes)), folder / "root")
    return folder / "root"


def nulls(values: dict[str, Any], prefix: str = "") -> set[str]:
    results: set[str] = set()
    for name, value in values.items():
        if value is None:
            results.add(f"{prefix}{name}")
        elif isinstance(value, dict) and name != "withheld":
            results |= nulls(value, f"{prefix}{name}.")
    return results


def fetch(api: ApiClient, family: Family, alpha: str, key: str, **query: str) -> dict[str, Any]:
    data: dict[str, Any] = data_of(ENDPOINTS[family.endpoint], api.get(path(family, alpha, **query), key))
    spans = {name for name in ("first_date", "last_date") if data[name] is None}
    assert nulls(data) - spans == set(data["withheld"]), (
        "what is null has its reason, and nothing else has one"
    )
    assert all(data["withheld"].values())
    return data


@every_family
def test_a_complete_run_has_its_figures(api: ApiClient, family: Family) -> None:
    data = fetch(api, family, ALPHA, api.key(raw=True))
    assert data["observations"] > 60
    assert data["first_date"] < data["last_date"]
    # The simulated score has no significant IC, and may earn nothing.
    allowed = ("the mean IC lies less than", "P&L is not above 0")
    assert [text for text in data["withheld"].values() if not any(x in text for x in allowed)] == []


@every_family
@pytest.mark.parametrize("alpha", LACKING)
def test_figures_a_run_does_not_determine_are_null_with_a_reason(
    api: ApiClient, family: Family, alpha: str
) -> None:
    withheld = fetch(api, family, alpha, api.key(raw=True))["withheld"]
    # Costs and concentration need no minimum length.
    assert bool(withheld) != (alpha == "Test_short" and family.name in ("costs", "concentration"))


@every_family
def test_the_files_match_the_api(api: ApiClient, root: Path, family: Family) -> None:
    run = datasets.open(root)[ALPHA]
    books = ("long_short", "long_only", "raw_long_short") if family.by_book else (None,)
    for book in books:
        result = getattr(run, family.name)(*([] if book is None else [book]))
        query = {} if book is None else {"book": book}
        assert result == fetch(api, family, ALPHA, api.key(raw=True), **query)


@every_family
def test_raw_books_and_parts_are_hidden_without_raw_access(api: ApiClient, family: Family) -> None:
    key = api.key(raw=False)
    if family.by_book:
        response = api.get(path(family, ALPHA, book="raw_long_short"), key)
        assert (response.status_code, response.json()["error"]["code"]) == (400, "unknown_book")
    closed = {field.name for field in family.payload.fields if field.raw}
    data = fetch(api, family, ALPHA, key)
    assert not closed & data.keys()
    assert set(fetch(api, family, ALPHA, api.key(raw=True))) - closed == set(data)


@every_family
def test_a_key_needs_the_endpoints_of_the_underlying_data(api: ApiClient, family: Family) -> None:
    for closed in family.needs:
        granted = {family.endpoint, *family.needs} - {closed}
        response = api.get(path(family), api.key(endpoints=",".join(granted)))
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["details"]["endpoint"]) == (
            403,
            "endpoint_not_allowed",
            closed,
        )
    only = api.key(endpoints=",".join({family.endpoint, *family.needs}))
    assert api.get(path(family), only).status_code == 200


@every_family
def test_a_window_is_refused(api: ApiClient, family: Family) -> None:
    assert api.get(path(family, ALPHA, **{"from": "2019-01-01"}), api.key()).status_code == 400


def test_falsified_figures_are_reported_by_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def falsified(figures: dict[str, Any]) -> dict[str, Any]:
        result = settle(figures)
        return {**result, "observations": result["observations"] + 1}

    seal = seals.make_seal(tmp_path / "seals", alpha_id=ALPHA, weeks=30)
    with monkeypatch.context() as building:
        building.setattr(research, "settle", falsified)
        build_seal(str(seal), tmp_path / "root")
    faults = verify(open_storage(tmp_path / "root"), ALPHA).faults
    assert {Path(fault.file).name for fault in faults} == {f"{name}.json" for name in FAMILIES}
    assert {fault.check for fault in faults} == {"derived"}


def test_an_older_snapshot_withholds_the_figures(root: Path) -> None:
    run = datasets.open(root)[ALPHA]
    files = tuple(entry for entry in run.manifest.files if not entry.path.startswith("figures/"))
    object.__setattr__(run.manifest, "files", files)
    for family in FAMILIES.values():
        figures = run.research(family.name, "long_short" if family.by_book else None)
        assert set(figures["withheld"].values()) == {
            "the snapshot was built before this figure existed; build its seal again"
        }


def test_documents_are_plain_json_of_the_books(root: Path) -> None:
    run = datasets.open(root)[ALPHA]
    for family in FAMILIES.values():
        path = root / snapshot_path(ALPHA, run.id) / figures_path(family.name)
        document = orjson.loads(path.read_bytes())
        assert set(document) == (set(run.books("portfolio")) if family.by_book else {""})


def test_luck_stored_at_publication_is_what_a_request_computes(root: Path) -> None:
    run = datasets.open(root)[ALPHA]
    stored = run.figures(LUCK)
    assert stored is not None
    assert set(stored) == set(SEALED_BOOKS) & set(run.books("portfolio"))
    for book in stored:
        query = LuckQuery(book)
        computed = measure(read_evidence(run, book), query)
        assert Luck.decode(stored[book]) == computed == read_luck(run, query)


def test_the_same_returns_sealed_again_have_the_same_bands(tmp_path: Path) -> None:
    seal = seals.make_seal(tmp_path / "seals", alpha_id=ALPHA, weeks=30, tried=(1.0, 4.0))
    build_seal(str(seal), tmp_path / "root")
    seals.rewrite(seal, "seal", lambda manifest: manifest | {"sealed_at": "2026-01-02T03:04:05Z"})
    build_seal(str(seal), tmp_path / "again")
    first, again = (datasets.open(tmp_path / name)[ALPHA] for name in ("root", "again"))
    assert first.manifest.seal_digest != again.manifest.seal_digest
    assert first.luck() == again.luck()
    window = Window(first=first.returns()["date"][40])
    assert first.luck(window=window) == again.luck(window=window)
    assert first.regimes() == again.regimes()


def test_stored_luck_figures_that_contradict_the_run_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal = seals.make_seal(tmp_path / "seals", alpha_id=ALPHA, weeks=30)
    with monkeypatch.context() as building:
        building.setattr(
            research, "measure", lambda evidence, query: measure(replace(evidence, alpha_id="Another"), query)
        )
        build_seal(str(seal), tmp_path / "root")
    (fault,) = verify(open_storage(tmp_path / "root"), ALPHA).faults
    assert (Path(fault.file).name, fault.check) == ("luck.json", "derived")
