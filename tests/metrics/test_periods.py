"""The years and months of a run: sealed first, computed second, for every period that the window touches."""

from __future__ import annotations

import pytest

from datasets.figures.run_metrics import Answer
from tests.support import factories
from tests.support.factories import answer_metrics, codes, record, sealed


def periods(answer: Answer) -> list[str]:
    return [x["period"] for x in answer.data["periods"]]


@pytest.mark.parametrize(("granularity", "length"), [("yearly", 4), ("monthly", 7)])
def test_every_period_with_a_row_is_there_once_ascending(granularity: str, length: int) -> None:
    figures = factories.run()
    result = periods(answer_metrics(figures, granularity=granularity))
    assert result == sorted(set(result))
    assert {len(x) for x in result} == {length}
    assert figures.ledger is not None
    assert figures.index is not None
    days = {str(day)[:length] for part in (figures.ledger, figures.index) for day in part.date}
    assert set(result) == days


def test_a_period_has_the_names_of_the_run_but_no_tenure() -> None:
    answer = answer_metrics(factories.run(sealed=None), granularity="monthly")
    names = answer.data["core"].keys() - {"tenure"}
    assert all(x["core"].keys() == names for x in answer.data["periods"])


def test_sealed_figures_of_a_period_come_first_and_the_others_are_computed_on_it() -> None:
    figures = factories.run(sealed=sealed([record("pnl", 9.0)], p2020_03=[record("pnl", 0.5, kind="fact")]))
    by_period = {
        x["period"]: x["core"] for x in answer_metrics(figures, granularity="monthly").data["periods"]
    }
    assert by_period["2020-03"]["pnl"]["value"] == 0.5
    assert by_period["2020-03"]["pnl"]["source_kind"] == "fact"
    april = answer_metrics(figures, first="2020-04-01", last="2020-04-30").data["within_window"]["core"]
    for name in ("ic", "icir", "information_ratio", "max_drawdown", "turnover"):
        assert by_period["2020-04"][name]["value"] == april[name]["value"]
        assert by_period["2020-04"][name]["source_kind"] == "derived"
    # The sealed profit of the run does not apply to a month.
    assert by_period["2020-04"]["pnl"]["source_kind"] == "derived"
    assert by_period["2020-04"]["pnl"]["value"] != 9.0


def test_a_period_known_only_from_records_is_listed() -> None:
    stated = {"p1999": [record("pnl", 1.0)], "p1999_07": [record("pnl", 0.5)]}
    figures = factories.run(sealed=sealed([], **stated))
    assert periods(answer_metrics(figures, granularity="yearly"))[0] == "1999"
    monthly = answer_metrics(figures, granularity="monthly")
    assert periods(monthly)[:2] == ["1999-07", "2020-01"]
    first = monthly.data["periods"][0]["core"]
    assert first["pnl"]["value"] == 0.5
    assert first["ic"]["status"] == "not_measurable"


def test_a_window_keeps_overlapping_periods() -> None:
    stated = {f"p2020_{month:02}": [record("pnl", 0.01 * month)] for month in range(1, 9)}
    figures = factories.run(sealed=sealed([], **stated))
    touched = answer_metrics(figures, first="2020-02-29", last="2020-04-01", granularity="monthly")
    assert periods(touched) == ["2020-02", "2020-03", "2020-04"]
    # Sealed figures are those of the full month, computed ones of its part in the window.
    assert touched.data["periods"][0]["core"]["pnl"]["value"] == 0.02
    part = answer_metrics(figures, first="2020-04-01", last="2020-04-01").data["within_window"]["core"][
        "max_drawdown"
    ]
    assert touched.data["periods"][-1]["core"]["max_drawdown"]["value"] == part["value"]
    assert "window_lifetime_only" in codes(touched, "periods")


def test_without_access_only_sealed_periods_are_listed() -> None:
    figures = factories.run(sealed=sealed([], p2020_03=[record("pnl", 0.5)]))
    answer = answer_metrics(figures, granularity="monthly", may_call=frozenset())
    assert periods(answer) == ["2020-03"]
    core = answer.data["periods"][0]["core"]
    assert core["pnl"]["value"] == 0.5
    assert core["turnover"]["status"] == "not_measurable"
    assert "access_limited" in codes(answer, "periods")


def test_equal_warnings_of_many_periods_are_given_once() -> None:
    figures = factories.run(sealed=None, ledger=None, kinds=factories.KINDS - {"portfolio"})
    answer = answer_metrics(figures, granularity="monthly")
    assert len([x for x in answer.warnings if x["block"] == "periods"]) == 1
