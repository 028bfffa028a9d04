from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.field import Field, FieldType
from schemas.objects.description import DESCRIPTION
from serve.endpoints.catalog import complete_description
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    folder = tmp_path_factory.mktemp("many") / "published"
    folder.mkdir()
    week = {"rebalances": published.rebalances()}
    for alpha, started, name, tldr in (
        ("Test_a", "2026-01-01", "Straße der Momente", None),
        ("Test_b", "2026-03-01", None, "Momentum, weekly"),
        ("Test_c", "2026-03-01", None, "Reversal"),
        ("prod_d", "2026-02-01", "Quality", "Accruals"),
    ):
        published.publish(
            folder, week, alpha_id=alpha, started_at=f"{started}T00:00:00Z", name=name, tldr=tldr
        )
    with running(folder) as api:
        yield api


def listed(api: ApiClient, token: str, query: str = "") -> list[str]:
    body = api.json(f"/v1/alphas?{query}", token)
    assert body["pagination"]["total"] == len(body["data"])
    return [row["alpha_id"] for row in body["data"]]


def test_alphas_are_listed_latest_started_first_with_ties_by_address(many: ApiClient) -> None:
    assert listed(many, many.key()) == ["Test_b", "Test_c", "prod_d", "Test_a"]


def test_alphas_started_within_one_second_are_listed_and_screened_in_their_order(tmp_path: Path) -> None:
    week = {"rebalances": published.rebalances()}
    for alpha, second in (("Test_whole", "00"), ("Test_half", "00.500000"), ("Test_later", "01")):
        published.publish(tmp_path, week, alpha_id=alpha, started_at=f"2026-01-05T06:00:{second}Z")
    with running(tmp_path) as api:
        token = api.key()
        latest_first = ["Test_later", "Test_half", "Test_whole"]
        assert listed(api, token) == latest_first
        screened = api.json("/v1/screen?sort=-started_at", token)["data"]
        assert [row["alpha_id"] for row in screened] == latest_first


def test_rows_hold_three_fields(many: ApiClient) -> None:
    rows = many.json("/v1/alphas", many.key())["data"]
    assert rows[0] == {"alpha_id": "Test_b", "name": "Test_b", "tldr": "Momentum, weekly"}
    assert rows[3] == {"alpha_id": "Test_a", "name": "Straße der Momente", "tldr": None}


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("MOMENT", ["Test_b", "Test_a"]),
        ("strasse", ["Test_a"]),
        ("test_", ["Test_b", "Test_c", "Test_a"]),
        ("accruals", ["prod_d"]),
        ("", ["Test_b", "Test_c", "prod_d", "Test_a"]),
        ("%25", []),
        ("nothing", []),
    ],
)
def test_search_covers_address_name_and_summary(many: ApiClient, search: str, expected: list[str]) -> None:
    assert listed(many, many.key(), f"search={search}") == expected


def test_the_allow_list_of_runs_hides_no_alpha_from_the_list(many: ApiClient) -> None:
    assert listed(many, many.key(alphas="all", runs="list:none")) == ["Test_b", "Test_c", "prod_d", "Test_a"]


def test_a_missing_description_is_its_own_404(many: ApiClient) -> None:
    token = many.key()
    error = many.json("/v1/alphas/Test_b", token, 404)["error"]
    assert error["code"] == "alpha_description_not_found"
    assert many.get("/v1/alphas/Test_b/rebalances", token).status_code == 200


def keys_of(field: Field, value: Any, path: str = "") -> Iterator[tuple[str, set[str]]]:
    if field.type is FieldType.OBJECT:
        yield path, set(value)
        for member in field.fields:
            if not member.optional:
                yield from keys_of(member, value[member.name], f"{path}.{member.name}")


def test_every_documented_key_is_present_in_a_sparse_description(api: ApiClient, plain: str) -> None:
    body = api.json("/v1/alphas/Test_hand", plain)
    for path, actual in keys_of(DESCRIPTION, body["data"]):
        declared = DESCRIPTION
        for part in path.split(".")[1:]:
            declared = declared[part]
        assert actual == {member.name for member in declared.fields if not member.optional}, path
    assert body["data"]["algo_id"] == body["data"]["alpha_id"] == "Test_hand"
    assert body["data"]["name"] == "By hand"
    assert body["data"]["tldr"] is None
    assert body["data"]["signal"]["pseudocode"] is None
    assert body["data"]["thesis"]["falsification_criteria"] is None
    assert body["data"]["source_papers"] == []
    assert set(body["meta"]) == {"run", "alpha_id", *published.NAMED, "request_id", "generated_at", "source"}
    assert body["meta"]["alpha_id"] == "Test_hand"


def test_lists_of_objects_are_filled_and_other_sealed_keys_are_not_served() -> None:
    served = complete_description(
        {
            "alpha_id": "another",
            "secret_note": "x",
            "classification": {"structure": "s", "data_tier": "gold", "frequency": ["weekly"]},
            "parameters": [
                {"name": "n", "search_values": [1, 2], "selected_value_by_test_year": {"2020": "2"}}
            ],
            "data_requirements": {"fields": [{"name": "close", "hidden": 1}]},
            "source_papers": [{"title": "T", "role": "seed"}],
        },
        "Test_x",
        raw=False,
    )
    assert served["alpha_id"] == served["name"] == "Test_x"
    assert "secret_note" not in served
    assert served["classification"] == {
        "structure": "s",
        "method": None,
        "frequency": ["weekly"],
        "tags": None,
    }
    (parameter,) = served["parameters"]
    assert parameter["search_values"] == [1, 2]
    assert parameter["selected_value_by_test_year"] == {"2020": "2"}
    assert parameter["tunable"] is None
    assert served["data_requirements"]["fields"] == [{"name": "close", "category": None, "required": None}]
    assert served["source_papers"] == [
        {"title": "T", "published_date": None, "role": "seed", "rationale": None}
    ]


def test_a_published_run_is_readable_only_under_its_exact_address(tmp_path: Path) -> None:
    published.publish(tmp_path, {"rebalances": published.rebalances()})
    with running(tmp_path) as api:
        token = api.key()
        for address in ("test_hand", "Test_hand%20", "Test_hand%00", "..", "%2e", "Test_hand.json", "é"):
            assert api.get(f"/v1/alphas/{address}/rebalances", token).status_code == 404


def test_missing_keys_are_null_and_raw_keys_need_raw_access() -> None:
    sealed = {
        "thesis": {"falsification_criteria": [{"metric": "ic", "threshold": {"below": 0, "raw_ic": 1}}]},
        "parameters": [{"default": [{"raw_x": 1, "x": 2}]}],
    }
    shown = {raw: complete_description(sealed, "Test_x", raw=raw) for raw in (False, True)}
    criteria = {raw: shown[raw]["thesis"]["falsification_criteria"] for raw in shown}
    assert criteria[False] == [{"metric": "ic", "threshold": {"below": 0}, "horizon": None}]
    assert criteria[True] == [{"metric": "ic", "threshold": {"below": 0, "raw_ic": 1}, "horizon": None}]
    assert [shown[raw]["parameters"][0]["default"] for raw in shown] == [[{"x": 2}], [{"raw_x": 1, "x": 2}]]
