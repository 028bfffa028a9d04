"""The evidence of each figure, and the value served if an engine used another convention."""

from __future__ import annotations

import math
from typing import Any

import pytest

from datasets.figures import ratios
from pipeline.reconciliation.conventions import CONVENTIONS
from schemas.metrics.core import CORE, RANK_IC, RISK_FREE_RATE, SERVED_CONVENTIONS
from schemas.metrics.statistic import LEDGER, Statistic
from schemas.tables.sealed_metrics import NOT_CHECKED, NOT_REPRODUCED
from tests.support import factories
from tests.support.factories import EVERYTHING, answer_metrics, core, record, sealed

BY_365 = "daily, 365 periods, ddof 1"
WITHOUT_TABLES = {"ledger": None, "cross_sections": None, "deciles": None, "index": None}


def messages(figures: Any, code: str, **question: Any) -> dict[str, str]:
    return {
        x["block"]: x["message"] for x in answer_metrics(figures, **question).warnings if x["code"] == code
    }


def test_the_first_tried_convention_is_the_interfaces_own() -> None:
    assert SERVED_CONVENTIONS.keys() == CONVENTIONS.keys()
    for name, own in SERVED_CONVENTIONS.items():
        tried = [way.name for way in CONVENTIONS[name]]
        assert set(own) <= set(tried), name
        assert tried[0] in own, name


@pytest.mark.parametrize("statistic", CORE, ids=lambda x: x.name)
def test_a_figure_without_its_table_is_served_as_stated_with_a_warning(statistic: Statistic) -> None:
    stated = record(statistic.sealed[0].name, 9.9, annualised=True, reconciliation=NOT_CHECKED)
    figures = factories.run(sealed=sealed([stated]), **WITHOUT_TABLES)
    entry = core(figures)[statistic.name]
    assert (entry["value"], entry["status"], entry["checked"]) == (9.9, "available", "stated")
    assert statistic.name in messages(figures, "figure_stated")["core"]


@pytest.mark.parametrize("statistic", CORE, ids=lambda x: x.name)
def test_a_contradicted_figure_is_replaced_by_the_computed_one(
    statistic: Statistic,
) -> None:
    wrong = record(statistic.sealed[0].name, 9.9, "per_year", annualised=True, reconciliation=NOT_REPRODUCED)
    entry = core(factories.run(sealed=sealed([wrong])))[statistic.name]
    assert entry["checked"] == "contradicted"
    assert entry["value"] == core(factories.run(sealed=None))[statistic.name]["value"]
    assert (entry["sealed_value"], entry["sealed_unit"], entry["sealed_convention"]) == (
        9.9,
        "per_year",
        None,
    )
    withheld = core(factories.run(sealed=sealed([wrong]), **WITHOUT_TABLES))[statistic.name]
    assert (withheld["value"], withheld["checked"], withheld["sealed_value"]) == (None, "contradicted", 9.9)


def test_statistics_of_the_raw_signal_are_marked_as_well() -> None:
    stated = [
        record("raw_mean_ic", 0.77, reconciliation=NOT_CHECKED),
        record("raw_icir", 9.0, annualised=True, reconciliation=NOT_CHECKED),
    ]
    figures = factories.run(sealed=sealed(stated), cross_sections=factories.cross_sections(raw=False))
    block = answer_metrics(figures).data["rank_ic"]
    assert {x["checked"] for x in block["raw"].values()} == {"stated"}
    assert {x["checked"] for x in block["conditioned"].values()} == {"computed"}
    assert messages(figures, "figure_stated").keys() == {"rank_ic"}


def test_a_ratio_by_another_convention_is_reported_beside_the_definition() -> None:
    """One name is one figure everywhere."""
    book = factories.ledger()
    own = ratios.information_ratio(book.starting, book.ending)
    assert isinstance(own, float)
    by_365 = own * math.sqrt(365 / 252)
    stated = sealed(
        [record("information_ratio", by_365, annualised=True, convention=BY_365)],
        p2020=[record("information_ratio", 2 * by_365, annualised=True, convention=BY_365)],
    )
    figures = factories.run(sealed=stated, ledger=book)
    entries = core(figures)
    for name in ("information_ratio", "sharpe"):
        assert entries[name]["value"] == own
        assert (entries[name]["checked"], entries[name]["source_kind"]) == ("computed", "derived")
        assert (entries[name]["sealed_value"], entries[name]["sealed_unit"]) == (by_365, "ratio")
        assert entries[name]["sealed_convention"] == BY_365
    (year,) = answer_metrics(figures, granularity="yearly").data["periods"]
    assert year["core"]["information_ratio"]["value"] == own
    assert year["core"]["information_ratio"]["sealed_value"] == 2 * by_365
    warned = messages(figures, "figure_by_other_convention", granularity="yearly")
    assert warned.keys() == {"core", "periods"}
    assert "information_ratio" in warned["core"]
    assert not messages(figures, "figure_not_reproduced", granularity="yearly")


OTHERWISE = [
    (statistic, name, way.name)
    for family in (CORE, *RANK_IC.values())
    for statistic in family
    for name in statistic.sealed
    for way in CONVENTIONS[name.name]
    if way.name not in name.conventions and (way.annualised or not name.annualised_only)
]


@pytest.mark.parametrize(("statistic", "name", "convention"), OTHERWISE, ids=lambda x: getattr(x, "name", x))
def test_no_other_convention_is_served_under_the_name_of_any_statistic(
    statistic: Statistic, name: Any, convention: str
) -> None:
    stated = record(name.name, 0.123456, annualised=True, convention=convention)
    data = answer_metrics(factories.run(sealed=sealed([stated]))).data
    bare = answer_metrics(factories.run(sealed=None)).data
    served, own = (
        x["core"] if statistic in CORE else x["rank_ic"][str(statistic.signal)] for x in (data, bare)
    )
    served, own = served[statistic.name], own[statistic.name]
    assert served["value"] == own["value"]
    assert served["sealed_convention"] == convention


def test_a_key_without_the_ledger_gets_no_recomputed_ratio() -> None:
    stated = sealed([record("information_ratio", 0.845, annualised=True, convention=BY_365)])
    entry = core(factories.run(sealed=stated), may_call=EVERYTHING - {LEDGER.endpoint})["information_ratio"]
    assert (entry["value"], entry["sealed_value"]) == (None, 0.845)
    assert BY_365 in entry["withheld_reason"]


@pytest.mark.parametrize(
    "convention",
    [x.name for x in CONVENTIONS[RISK_FREE_RATE] if x.name not in SERVED_CONVENTIONS[RISK_FREE_RATE]],
)
def test_the_sharpe_ratios_rate_follows_its_own_convention(convention: str) -> None:
    stated = [
        record("excess_sharpe", 0.7, annualised=True),
        record("risk_free_rate", 0.99, annualised=True, convention=convention),
    ]
    book = factories.ledger()
    entry = core(factories.run(sealed=sealed(stated), ledger=book))["excess_sharpe"]
    assert entry["risk_free_rate"] == pytest.approx(book.risk_free.mean() * 252)
    assert entry["risk_free_rate_source"] == "portfolio"
