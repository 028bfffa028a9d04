"""Where each statistic comes from: sealed first, computed second, withheld with a reason third."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas.metrics.core import CORE, RANK_IC
from schemas.metrics.statistic import LEDGER, Statistic
from tests.support import factories
from tests.support.factories import answer_metrics, core, record, sealed

RANK_IC_PATHS = [(signal.value, x) for signal, family in RANK_IC.items() for x in family]
NO_SOURCE = {
    "ledger": None,
    "cross_sections": None,
    "deciles": None,
    "index": None,
    "kinds": frozenset({"metrics"}),
}


@pytest.mark.parametrize("statistic", CORE, ids=lambda x: x.name)
def test_a_sealed_value_is_served_as_sealed(statistic: Statistic) -> None:
    name = statistic.sealed[0].name
    stated = record(name, 4.25, "per_session", kind="fact", annualised=True)
    entry = core(factories.run(sealed=sealed([stated])))[statistic.name]
    assert entry["value"] == 4.25
    assert entry["unit"] == "per_session"
    assert entry["status"] == "available"
    assert entry["source"] == name
    assert entry["source_kind"] == "fact"
    assert entry["checked"] == "reproduced"
    assert not {"withheld_reason", "sealed_value"} & entry.keys()


@pytest.mark.parametrize("statistic", CORE, ids=lambda x: x.name)
@pytest.mark.parametrize("null", [True, False], ids=["sealed as null", "not sealed"])
def test_a_statistic_without_a_sealed_value_is_computed(statistic: Statistic, null: bool) -> None:
    records = [record(x.name, None) for x in statistic.sealed] if null else []
    entry = core(factories.run(sealed=sealed(records)))[statistic.name]
    assert entry["status"] == "available"
    assert isinstance(entry["value"], float)
    assert entry["source"] == ("portfolio" if statistic.source is LEDGER else "decisions")
    assert (entry["source_kind"], entry["checked"]) == ("derived", "computed")
    assert entry["annualisation"] == statistic.annualisation


@pytest.mark.parametrize("statistic", CORE, ids=lambda x: x.name)
@pytest.mark.parametrize("null", [True, False], ids=["sealed as null", "not sealed"])
def test_a_statistic_with_neither_value_nor_data_is_withheld_with_the_reason(
    statistic: Statistic, null: bool
) -> None:
    records = [record(x.name, None) for x in statistic.sealed] if null else []
    entry = core(factories.run(sealed=sealed(records), **NO_SOURCE))[statistic.name]
    assert entry["value"] is None
    assert entry["status"] == "not_measurable"
    assert entry["source"] is entry["source_kind"] is entry["checked"] is None
    assert ("sealed without a value" in entry["withheld_reason"]) == null
    assert "the run holds no" in entry["withheld_reason"]


@pytest.mark.parametrize(("signal", "statistic"), RANK_IC_PATHS, ids=lambda x: getattr(x, "name", x))
def test_rank_ic_statistics_follow_the_same_order(signal: str, statistic: Statistic) -> None:
    stated = record(statistic.sealed[0].name, 0.5)
    served = answer_metrics(factories.run(sealed=sealed([stated]))).data["rank_ic"][signal][statistic.name]
    assert (served["value"], served["source"], served["signal"]) == (0.5, stated.name, signal)
    computed = answer_metrics(factories.run(sealed=None)).data["rank_ic"][signal][statistic.name]
    assert (computed["source"], computed["source_kind"]) == ("decisions", "derived")
    assert computed["value"] is not None
    assert answer_metrics(factories.run(sealed=None, **NO_SOURCE)).data["rank_ic"] is None
    partly = answer_metrics(factories.run(sealed=sealed([stated]), **NO_SOURCE)).data["rank_ic"]
    assert partly[signal][statistic.name]["value"] == 0.5
    others = [x for family in partly.values() for x in family.values() if x["value"] is None]
    assert len(others) == len(RANK_IC_PATHS) - 1


def test_the_name_of_a_raw_record_is_hidden_from_keys_without_raw_access() -> None:
    records = sealed([record("raw_mean_ic", None), record("raw_icir", None)])
    figures = factories.run(cross_sections=factories.cross_sections(raw=False), sealed=records)
    reasons = {
        raw: {
            name: entry["withheld_reason"]
            for name, entry in answer_metrics(figures, raw=raw).data["rank_ic"]["raw"].items()
        }
        for raw in (True, False)
    }
    without = "was sealed without a value; the run recorded no signal before smoothing"
    assert reasons[True] == {"ic": f"raw_mean_ic {without}", "icir": f"raw_icir {without}"}
    assert reasons[False] == {"ic": f"the figure {without}", "icir": f"the figure {without}"}


@pytest.mark.parametrize(
    ("stated", "source", "scaling"),
    [
        (
            ["annualised_turnover", "turnover", "mean_turnover", "total_turnover"],
            "annualised_turnover",
            "annualised",
        ),
        (["turnover", "mean_turnover", "total_turnover"], "turnover", "per_period"),
        (["mean_turnover", "total_turnover"], "mean_turnover", "per_period"),
        (["total_turnover"], "total_turnover", "not_annualisable"),
        ([], "portfolio", "annualised"),
    ],
)
def test_turnover_takes_the_first_name_sealed_and_is_scaled_by_it(
    stated: list[str], source: str, scaling: str
) -> None:
    entry = core(factories.run(sealed=sealed([record(name, 1.5) for name in stated])))["turnover"]
    assert (entry["source"], entry["annualisation"]) == (source, scaling)


@pytest.mark.parametrize(
    ("unit", "annualised", "scaling"),
    [
        ("per_year", True, "annualised"),
        ("per_session", False, "per_period"),
        ("period_sum", False, "not_annualisable"),
    ],
)
def test_an_ambiguous_turnover_is_scaled_by_its_record(unit: str, annualised: bool, scaling: str) -> None:
    stated = record("turnover", 1.5, unit, annualised=annualised)
    entry = core(factories.run(sealed=sealed([stated])))["turnover"]
    assert (entry["unit"], entry["annualisation"]) == (unit, scaling)


@pytest.mark.parametrize(("annualised", "scaling"), [(True, "annualised"), (False, "per_period")])
def test_icir_is_annualised_when_the_sealed_one_is(annualised: bool, scaling: str) -> None:
    stated = [record("icir", 0.3, annualised=annualised), record("raw_icir", 0.2, annualised=annualised)]
    data = answer_metrics(factories.run(sealed=sealed(stated))).data
    assert data["core"]["icir"]["annualisation"] == scaling
    assert data["rank_ic"]["raw"]["icir"]["annualisation"] == scaling


@pytest.mark.parametrize("name", ["information_ratio", "excess_sharpe"])
def test_a_ratio_sealed_per_session_is_another_figure_than_the_annual_one(name: str) -> None:
    entry = core(factories.run(sealed=sealed([record(name, 0.04, annualised=False)])))[name]
    assert entry["source_kind"] == "derived"
    assert entry["annualisation"] == "annualised"
    assert entry["value"] != 0.04


def test_each_figure_says_how_it_is_annualised() -> None:
    scaling = {name: x["annualisation"] for name, x in core(factories.run()).items() if name != "tenure"}
    assert scaling == {
        "ic": "per_period", "icir": "annualised", "information_ratio": "annualised", "sharpe": "annualised",
        "excess_sharpe": "annualised", "pnl": "not_annualisable", "max_drawdown": "not_annualisable",
        "max_drawdown_pct": "not_annualisable", "turnover": "annualised",
    }  # fmt: skip


def test_sharpe_repeats_the_information_ratio_and_says_so() -> None:
    for figures in (factories.run(), factories.run(sealed=None), factories.run(sealed=None, **NO_SOURCE)):
        entries = core(figures)
        assert entries["sharpe"] == {
            **entries["information_ratio"], "deprecated": True, "superseded_by": "information_ratio",
        }  # fmt: skip
        assert "deprecated" not in entries["information_ratio"]


@pytest.mark.parametrize(("basis", "unit"), [(1.0, "ratio"), (1e6, "base_currency_units")])
def test_computed_money_is_in_the_ledgers_currency(basis: float, unit: str) -> None:
    figures = factories.run(sealed=None, equity_basis=basis, ledger=factories.ledger(opening=basis))
    entries = core(figures)
    assert entries["pnl"]["unit"] == entries["max_drawdown"]["unit"] == unit
    assert entries["max_drawdown_pct"]["unit"] == "percentage_points"


def test_the_excess_sharpes_rate_belongs_to_its_value() -> None:
    def rate(entry: dict[str, Any]) -> tuple[Any, Any]:
        return entry["risk_free_rate"], entry["risk_free_rate_source"]

    stated = [
        record("excess_sharpe", 0.7, annualised=True),
        record("risk_free_rate", 0.0131, annualised=True),
    ]
    book = factories.ledger()
    rising = replace(book, risk_free=np.linspace(0, 0.0004, book.date.size))
    full, first_month = rising.risk_free.mean() * 252, rising.risk_free[:20].mean() * 252
    last = str(rising.date[19])

    both = factories.run(sealed=sealed(stated), ledger=rising)
    assert rate(core(both)["excess_sharpe"]) == (0.0131, "risk_free_rate")
    assert rate(core(both, last=last)["excess_sharpe"]) == (0.0131, "risk_free_rate")
    no_rate = factories.run(sealed=sealed(stated[:1]), ledger=rising)
    assert rate(core(no_rate, last=last)["excess_sharpe"]) == (pytest.approx(full), "portfolio")
    only_rate = factories.run(sealed=sealed(stated[1:]), ledger=rising)
    assert rate(core(only_rate)["excess_sharpe"]) == (0.0131, "risk_free_rate")
    assert rate(core(only_rate, last=last)["excess_sharpe"]) == (0.0131, "risk_free_rate")
    within = answer_metrics(only_rate, last=last).data["within_window"]["core"]["excess_sharpe"]
    assert rate(within) == (pytest.approx(first_month), "portfolio")
    neither = factories.run(sealed=sealed(stated[:1]), ledger=None)
    assert rate(core(neither)["excess_sharpe"]) == (None, None)
    null = factories.run(sealed=sealed([record("risk_free_rate", None, annualised=True)]), ledger=rising)
    assert rate(core(null)["excess_sharpe"]) == (pytest.approx(full), "portfolio")


def test_undetermined_figures_are_withheld_never_zero() -> None:
    still = factories.ledger(sessions=30)
    flat = replace(
        still, starting=np.ones(30), ending=np.ones(30), risk_free=np.zeros(30), turnover=np.zeros(30)
    )
    entries = core(factories.run(sealed=None, ledger=flat))
    assert entries["information_ratio"]["value"] is None
    assert "do not vary" in entries["information_ratio"]["withheld_reason"]
    # A measured 0 is a measurement.
    assert entries["pnl"]["value"] == entries["max_drawdown"]["value"] == entries["turnover"]["value"] == 0.0
    one = core(factories.run(sealed=None, ledger=factories.ledger(sessions=1)))
    assert one["information_ratio"]["status"] == "not_measurable"
    assert one["pnl"]["status"] == "available"
    none = core(factories.run(sealed=None, ledger=factories.ledger(sessions=0)))
    assert {name for name, x in none.items() if name != "tenure" and x["value"] is not None} == {"ic", "icir"}


def test_the_processing_of_the_signal_is_as_stated() -> None:
    assert answer_metrics(factories.run()).data["signal_processing"] == {
        "signal": "conditioned", "smoothing_applied": True, "smoothing_half_life_weeks": 2.0, "detail": "exponential",
    }  # fmt: skip
    bare = answer_metrics(
        factories.run(smoothing={"applied": False, "half_life_weeks": None, "detail": None})
    )
    assert bare.data["signal_processing"]["smoothing_applied"] is False
    assert bare.data["signal_processing"]["smoothing_half_life_weeks"] is None
    assert answer_metrics(factories.run(smoothing=None)).data["signal_processing"] is None
