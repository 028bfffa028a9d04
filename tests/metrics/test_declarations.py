"""Declared, computed, served and documented statistics are the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

from datasets.figures import series
from datasets.figures.rank_ic import FROM_CROSS_SECTIONS
from datasets.figures.ratios import FROM_LEDGER
from schemas.documents.metrics_documentation import SCHEMA_VERSION, documentation
from schemas.endpoints import ENDPOINTS
from schemas.kinds import KINDS
from schemas.metrics.core import (
    CORE,
    RANK_IC,
    RANK_IC_CONDITIONED,
    RANK_IC_RAW,
    RISK_FREE_RATE,
    SERVED_CONVENTIONS,
)
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER, MONEY_UNIT, SOURCES, Statistic
from schemas.tables.sealed_metrics import METRIC_UNITS, NOT_REPRODUCED
from schemas.warning_codes import WARNING_CODES
from tests.support import factories

STATISTICS = [*CORE, *RANK_IC_CONDITIONED, *RANK_IC_RAW]


def every_kind_of_answer() -> list[dict[str, Any]]:
    """Answers that together contain every key."""
    full, bare = (
        factories.run(),
        factories.run(sealed=None, ledger=None, kinds=factories.KINDS - {"portfolio"}),
    )
    unsealed = factories.run(sealed=None, cross_sections=None, deciles=None)
    answers = [
        factories.answer_metrics(figures, granularity=granularity).data
        for figures in (full, bare, unsealed)
        for granularity in ("overall", "yearly", "monthly")
    ]
    answers += [
        factories.answer_metrics(figures, granularity="monthly", first=first).data
        for figures in (full, bare)
        for first in ("2020-02-01", "2099-01-01")
    ]
    names = [name for name in SERVED_CONVENTIONS if name != RISK_FREE_RATE]
    wrong = [factories.record(name, 7.5, annualised=True, reconciliation=NOT_REPRODUCED) for name in names]
    contradicted = factories.run(sealed=factories.sealed(wrong, p2020=wrong))
    answers.append(factories.answer_metrics(contradicted, granularity="yearly").data)
    empty = factories.run(cross_sections=factories.cross_sections(weeks=1), sealed=None)
    return [{**answer, "doc": documentation()} for answer in (*answers, factories.answer_metrics(empty).data)]


def test_every_path_of_an_answer_is_documented_and_every_documented_path_is_served() -> None:
    served = {path for answer in every_kind_of_answer() for path, _ in factories.walk(answer)}
    documented = set(documentation()["fields"])
    assert served - documented == set()
    assert documented - served == set()


def test_every_entry_is_complete() -> None:
    for path, entry in documentation()["fields"].items():
        assert {"meaning", "formula", "horizon", "granularity", "source", "unit"} <= entry.keys(), path
        assert all(isinstance(text, str) and text for text in entry.values()), path
        assert entry.keys() - {"signal", "availability"} == {
            "meaning", "formula", "horizon", "granularity", "source", "unit",
        }  # fmt: skip


def test_only_ic_statistics_name_their_signal() -> None:
    fields = documentation()["fields"]
    assert {fields[path]["signal"] for path in ("core.ic", "core.icir", "nwt.ic", "panel.ic_weekly")} == {
        "conditioned"
    }
    raw = (
        "rank_ic.raw.ic",
        "nwt.ic_score_panel",
        "ic_deciles",
        "panel.decile_spread_weekly",
        "panel.coverage",
    )
    assert {fields[path]["signal"] for path in raw} == {"raw"}
    for path in ("core", "core.pnl", "core.information_ratio", "core.tenure", "nwt", "nwt.ir", "periods"):
        assert "signal" not in fields[path]
    assert fields["ic_deciles"]["availability"]


def test_the_documentation_block_has_its_parts() -> None:
    block = documentation()
    assert list(block) == ["schema_version", "endpoint", "fields", "warnings"]
    assert block["schema_version"] == SCHEMA_VERSION == "2.0.0"
    assert {
        "path", "identity", "parameters", "window_semantics", "access", "signal_families",
    } <= block["endpoint"].keys()  # fmt: skip
    assert all(isinstance(text, str) and len(text) > 40 for text in block["endpoint"].values())
    assert block["warnings"] == WARNING_CODES
    for source in SOURCES:
        assert source.endpoint in block["endpoint"]["access"]
    for parameter in ENDPOINTS["performance.metrics"].query:
        assert f"{parameter.name}: " in block["endpoint"]["parameters"]


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda x: f"{x.source.kind}.{x.name}")
def test_every_statistic_can_be_computed_and_says_how(statistic: Statistic) -> None:
    assert statistic.unit in METRIC_UNITS or statistic.unit == MONEY_UNIT
    assert statistic.sealed
    assert statistic.formula
    assert ("x sqrt(" in statistic.formula or statistic.unit == "per_year") == (
        statistic.annualisation == "annualised"
    )
    if statistic.source is LEDGER:
        assert statistic.name in FROM_LEDGER
        assert statistic.signal is None
    else:
        assert statistic.source is CROSS_SECTIONS
        assert statistic.name in FROM_CROSS_SECTIONS


def test_only_declared_figures_are_computed() -> None:
    assert FROM_LEDGER.keys() == {x.name for x in CORE if x.source is LEDGER}
    conditioned = {x.name for x in (*CORE, *RANK_IC_CONDITIONED) if x.source is CROSS_SECTIONS}
    assert FROM_CROSS_SECTIONS.keys() == conditioned
    assert not {alias for x in CORE for alias in x.aliases} & {x.name for x in CORE}
    assert [x for family in RANK_IC.values() for x in family] == [*RANK_IC_CONDITIONED, *RANK_IC_RAW]


def test_documented_formulas_contain_the_used_constants() -> None:
    by_name = {x.name: x.formula for x in CORE}
    assert f"sqrt({series.WEEKS_PER_YEAR})" in by_name["icir"]
    for name in ("information_ratio", "excess_sharpe"):
        assert f"sqrt({series.SESSIONS_PER_YEAR})" in by_name[name]
    assert by_name["turnover"].endswith(f"x {series.SESSIONS_PER_YEAR}")
    fields = documentation()["fields"]
    assert str(series.DAYS_PER_YEAR) in fields["core.tenure.years"]["formula"]


def test_sources_name_existing_kinds_and_endpoints() -> None:
    for source in SOURCES:
        assert source.endpoint in ENDPOINTS
        assert {source.kind, *source.needs} <= set(KINDS)


def test_no_key_looks_like_a_raw_field() -> None:
    names = {part for path in documentation()["fields"] for part in re.split(r"\.|\[\]", path)}
    assert not [name for name in names if name.startswith("raw_")]
