"""Falsified ledgers are refused by the broken rule; honest ones are accepted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pipeline.rules import Report, check
from pipeline.seal import Seal
from schemas.errors import SealRefused
from tests.reconciliation.ledgers import (
    LEDGERS,
    WARNED,
    Falsification,
    declare,
    dividend_of_the_last_evening,
    having,
    levered_weights,
    nth,
    put,
    split_of_the_last_evening,
    table,
)
from tests.support.seals import make_seal, rewrite


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seal(tmp_path_factory.mktemp("valid"), source=False, description=False)


def checked(seal: Path) -> Report:
    return check(Seal.open(str(seal)))


def named(report: Report) -> set[str]:
    return {violation.rule for violation in report.violations}


@pytest.mark.parametrize("falsified", LEDGERS, ids=str)
def test_a_falsified_ledger_is_refused_under_its_rule(seal: Path, falsified: Falsification) -> None:
    falsified.alter(seal)
    report = checked(seal)
    assert falsified.rule in named(report)
    assert not {rule for rule in named(report) if rule.startswith(("seal.", "table."))}
    result = next(violation for violation in report.violations if violation.rule == falsified.rule)
    assert result.rows > 0
    assert 1 <= len(result.examples) <= 5
    assert result.remedy


@pytest.mark.parametrize("falsified", WARNED, ids=str)
def test_permitted_deviations_are_warnings(seal: Path, falsified: Falsification) -> None:
    falsified.alter(seal)
    report = checked(seal)
    assert not report.refused
    assert {warning.rule for warning in report.warnings} == {falsified.rule}


def test_a_broken_identity_shows_both_values(seal: Path) -> None:
    rewrite(seal, "portfolio", put("gross_notional", pl.lit(17.0), nth(having(), 20)))
    (violation,) = checked(seal).violations
    (example,) = violation.examples
    assert example["actual"] == 17.0
    assert example["expected"] != 17.0
    assert example["column"] == "gross_notional"
    assert example["book"] == "long_short"


@pytest.mark.parametrize("equity_basis", [1.0, 1_000_000.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_honest_run_passes_every_identity(tmp_path: Path, seed: int, equity_basis: float) -> None:
    report = checked(make_seal(tmp_path, seed=seed, equity_basis=equity_basis))
    assert report.violations == ()
    assert report.warnings == ()
    assert report.not_checked == ()


def test_a_declared_split_is_accepted_and_an_undeclared_one_refused(seal: Path) -> None:
    declare_split = split_of_the_last_evening(seal)
    assert named(checked(seal)) == {"positions.fills"}
    declare_split()
    assert checked(seal).violations == ()


def test_a_declared_dividend_is_accepted_and_an_undeclared_one_refused(seal: Path) -> None:
    declare_dividend = dividend_of_the_last_evening(seal)
    assert named(checked(seal)) == {"pnl.market", "portfolio.cash_flow"}
    declare_dividend()
    assert checked(seal).violations == ()


def test_books_may_declare_advisory_targets(seal: Path) -> None:
    levered_weights(seal)
    assert named(checked(seal)) == {"decisions.target"}
    assert checked(declare(seal, targets="advisory")).violations == ()


def test_fills_declared_outside_the_ledger_are_not_booked(seal: Path) -> None:
    booked = pl.col("book").str.replace("_settlements", "_adjustments")
    rewrite(seal, "trades", lambda frame: frame.with_columns(book=booked))
    fills = table(seal, "trades")
    memoranda = fills.filter(pl.col("book") == "long_short").head(3)
    memoranda = memoranda.with_columns(book=pl.lit("long_short_settlements"))
    rewrite(seal, "trades", lambda frame: pl.concat([frame, memoranda]))
    assert "positions.fills" in named(checked(seal))
    assert checked(declare(seal, outside_ledger=["settlements"])).violations == ()


def test_only_declared_differences_are_excused(seal: Path) -> None:
    rewrite(seal, "trades", put("quantity", -pl.col("quantity"), nth(having(), 5)))
    declare(seal, targets="advisory", outside_ledger=["settlements"], outside_turnover=["adjustments"])
    assert "positions.fills" in named(checked(seal))


@pytest.mark.parametrize(
    "reconciliation",
    [{"target": "advisory"}, {"targets": "none"}, {"rounding": 1.0}, {"rounding": True}, {"outside_ledger": "settlements"}, {"outside_turnover": ["long_short"]}],
    ids=str,
)  # fmt: skip
def test_an_invalid_declaration_is_refused(seal: Path, reconciliation: dict[str, object]) -> None:
    declare(seal, **reconciliation)
    with pytest.raises(SealRefused) as refused:
        Seal.open(str(seal))
    assert "reconciliation." in str(refused.value.violations)


def test_identities_of_missing_kinds_are_reported_as_not_checked(tmp_path: Path) -> None:
    report = checked(make_seal(tmp_path, trades=False))
    assert report.violations == ()
    skipped = {entry.rule for entry in report.not_checked}
    assert {"positions.fills", "pnl.market", "portfolio.cash_flow", "decisions.target"} <= skipped
    assert "portfolio.exposure" not in skipped
