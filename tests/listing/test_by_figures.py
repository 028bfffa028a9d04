"""The list of alphas by figures, which match the metrics and the key's access."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.metrics.headline import HEADLINE, HeadlineFigure
from schemas.metrics.statistic import SOURCES
from tests.support.client import ApiClient

ALL = ",".join(HEADLINE)
OF_METRICS = {name: figure for name, figure in HEADLINE.items() if figure.path}


def listed(api: ApiClient, token: str, query: str = "") -> list[dict[str, Any]]:
    body = api.json(f"/v1/screen?{query}", token)
    assert body["pagination"]["total"] == len(body["data"])
    rows: list[dict[str, Any]] = body["data"]
    return rows


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row["alpha_id"] for row in rows]


def comparable(row: dict[str, Any], name: str) -> float | None:
    """Return a figure as used for sorting and bounds, where stated figures do not count."""
    value: float | None = row["figures"][name]
    return None if row["figures_checked"].get(name) == "stated" else value


def entry(metrics: Any, figure: HeadlineFigure) -> Any:
    for step in figure.path:
        metrics = None if metrics is None else metrics[step]
    return metrics


@pytest.mark.parametrize(
    "endpoints",
    ["all", *(f"research.screen,performance.metrics,{source.endpoint}" for source in SOURCES)],
)
def test_every_figure_equals_that_of_the_metrics(api: ApiClient, endpoints: str) -> None:
    token = api.key(endpoints=endpoints)
    rows = listed(api, token, f"fields={ALL}")
    assert len(rows) == 8
    given = 0
    for row in rows:
        metrics = api.json(f"/v1/alphas/{row['alpha_id']}/metrics", token)["data"]
        assert set(row["figures"]) == set(HEADLINE)
        assert set(row["withheld"]) == {name for name, value in row["figures"].items() if value is None}
        for name in OF_METRICS:
            value, served = row["figures"][name], entry(metrics, HEADLINE[name])
            if value is not None:
                given += 1
                assert value == served["value"], (row["alpha_id"], name)
                assert served["unit"] == HEADLINE[name].unit
                assert served["annualisation"] == HEADLINE[name].statistic.annualisation
            elif served is not None and served["value"] is not None:
                assert "cannot be compared" in row["withheld"][name]
                shown = (served["unit"], served["annualisation"])
                assert shown != (HEADLINE[name].unit, HEADLINE[name].statistic.annualisation)
    assert given > 20


@pytest.mark.parametrize(
    "query", ["sort=name", "fields=icir", "min_icir=0", "tag=weekly", "started_from=2026-01-01"]
)
def test_the_list_of_alphas_has_the_documented_row(api: ApiClient, token: str, query: str) -> None:
    rows = api.json("/v1/alphas", token)["data"]
    assert {tuple(row) for row in rows} == {("alpha_id", "name", "tldr")}
    assert names(rows) == names(listed(api, token)), "the screen without parameters has the same order"
    assert api.json(f"/v1/alphas?{query}", token, 400)["error"]["code"] == "bad_request"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("started_from=2026-01-02&started_to=2026-01-01", "started_from"),
        ("published_from=2026-01-02&published_to=2026-01-01", "published_from"),
        ("min_icir=2&max_icir=1", "min_icir"),
    ],
)
def test_a_reversed_range_is_refused(api: ApiClient, token: str, query: str, name: str) -> None:
    error = api.json(f"/v1/screen?{query}", token, 400)["error"]
    assert [x["name"] for x in error["details"]["parameters"]] == [name]


def test_a_row_of_the_screen_names_its_snapshot(api: ApiClient, token: str) -> None:
    fields = ("alpha_id", "name", "tldr", "snapshot", "published_at", "complete")
    assert {tuple(row) for row in listed(api, token)} == {fields}


def test_only_the_requested_figures_are_shown_in_the_order_requested(api: ApiClient, token: str) -> None:
    row = listed(api, token, "fields=sharpe,icir&search=Test_full")[0]
    assert list(row["figures"]) == ["sharpe", "icir"]
    assert row["withheld"] == {}


@pytest.mark.parametrize("name", ["icir", "sharpe", "turnover", "max_drawdown_pct", "hit_rate"])
def test_missing_figures_sort_last_and_ties_by_address(api: ApiClient, token: str, name: str) -> None:
    for sign, direction in (("", 1), ("-", -1)):
        rows = listed(api, token, f"sort={sign}{name}&fields={name}")
        values = [(comparable(row, name), row["alpha_id"]) for row in rows]
        expected = sorted(values, key=lambda x: (x[0] is None, 0 if x[0] is None else direction * x[0], x[1]))
        assert values == expected
    assert any(value is None for value, _ in values) or name in ("sharpe", "turnover", "max_drawdown_pct")


@pytest.mark.parametrize("order", ["alpha_id", "name", "started_at", "published_at"])
def test_lists_sort_by_texts_and_times(api: ApiClient, token: str, order: str) -> None:
    rows = listed(api, token, f"sort={order}")
    if order in rows[0]:
        assert rows == sorted(rows, key=lambda row: (row[order].casefold(), row["alpha_id"]))
    backwards = listed(api, token, f"sort=-{order}")
    if order in rows[0]:
        assert backwards == sorted(
            sorted(rows, key=lambda row: row["alpha_id"]), key=lambda row: row[order].casefold(), reverse=True
        )
    assert sorted(names(backwards)) == sorted(names(rows))


def test_bounds_are_inclusive_and_exclude_withheld_figures(api: ApiClient, token: str) -> None:
    rows = listed(api, token, "fields=icir")
    figures = {row["alpha_id"]: comparable(row, "icir") for row in rows}
    known = sorted(value for value in figures.values() if value is not None)
    middle = known[len(known) // 2]
    above = listed(api, token, f"min_icir={middle!r}&fields=icir")
    assert names(above) == [
        alpha for alpha, value in figures.items() if value is not None and value >= middle
    ]
    assert names(listed(api, token, f"min_icir={middle!r}&max_icir={middle!r}")) == [
        alpha for alpha, value in figures.items() if value == middle
    ]
    assert listed(api, token, "min_icir=-1e300&max_icir=1e300") != listed(api, token)


def test_lists_are_filtered_by_tags_and_days(api: ApiClient, token: str) -> None:
    assert names(listed(api, token, "tag=weekly")) == ["Test_full"]
    assert listed(api, token, "tag=nothing") == []
    assert set(names(listed(api, token, "started_from=2026-01-05"))) >= {"Test_full", "Prod_twin"}
    assert names(listed(api, token, "started_to=2026-01-04")) == ["Test_computed"]
    assert listed(api, token, "published_to=2001-01-01") == []
    assert len(listed(api, token, "published_from=2001-01-01")) == 8
    assert names(listed(api, token, "search=test_&tag=price&complete_only=1")) == ["Test_full"]


@pytest.mark.parametrize("query", ["fields=icir", "sort=icir", "sort=-sharpe", "min_ic=0", "max_pnl=1"])
def test_a_key_without_metrics_may_not_list_by_figures(api: ApiClient, query: str) -> None:
    token = api.key(endpoints="research.screen")
    error = api.json(f"/v1/screen?{query}", token, 403)["error"]
    assert error["code"] == "endpoint_not_allowed"
    assert error["details"] == {"endpoint": "performance.metrics"}
    assert len(listed(api, token, "sort=name&started_from=2000-01-01")) == 8


def test_a_key_without_descriptions_may_not_list_by_tags(api: ApiClient) -> None:
    token = api.key(endpoints="research.screen,performance.metrics")
    error = api.json("/v1/screen?tag=weekly", token, 403)["error"]
    assert error["details"] == {"endpoint": "catalog.alphas.get"}


def test_figures_of_a_forbidden_run_are_never_shown(api: ApiClient) -> None:
    """Neither in rows nor through sorting or bounds."""
    token = api.key(runs="prefix:Prod_")
    rows = listed(api, token, "fields=icir&sort=-icir")
    assert names(rows)[0] == "Prod_twin"
    assert names(rows)[1:] == sorted(names(rows)[1:])
    assert [row["figures"]["icir"] is None for row in rows] == [False, *[True] * 7]
    assert {row["withheld"]["icir"] for row in rows[1:]} == {"the key may not read this run"}
    assert names(listed(api, token, "min_icir=-1e9")) == ["Prod_twin"]
    hidden = api.key(alphas="prefix:Test_")
    assert "Prod_twin" not in names(listed(api, hidden, "sort=-icir&fields=icir"))


def test_keys_with_different_rights_get_different_answers_to_the_same_request(api: ApiClient) -> None:
    """The parsed request is cached without the key's access."""
    wide, narrow = api.key(), api.key(runs="prefix:Prod_")
    ledger_only = api.key(endpoints="research.screen,performance.metrics")
    query = "fields=icir&search=Test_computed"
    assert listed(api, wide, query)[0]["figures"]["icir"] is not None
    assert listed(api, narrow, query)[0]["figures"]["icir"] is None
    assert "may not call" in listed(api, ledger_only, query)[0]["withheld"]["icir"]
    assert listed(api, wide, query)[0]["figures"]["icir"] is not None
