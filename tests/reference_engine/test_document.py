"""The pages for engine authors: the example satisfies the identities, and the rules are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.rules import RULES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "writing-a-seal.md").read_text(encoding="utf-8")


def table(first_heading: str) -> dict[str, list[str]]:
    """Return a table of the page: first cell of a row -> its other cells."""
    lines = PAGE[PAGE.index(f"| {first_heading} |") :].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    return {row[0]: row[1:] for row in rows if not row[0].startswith("---")}


def numbers(cells: list[str]) -> list[float]:
    return [float(cell) for cell in cells]


def test_the_example_ledger_satisfies_its_identities() -> None:
    ledger = {name: numbers(cells) for name, cells in table("ledger").items() if name != "ledger"}
    flows = ("market_pnl", "execution_cost", "borrow_cashflow", "cash_carry", "rounding_adjustment")
    for day in (0, 1):
        ending = ledger["ending_equity"][day]
        total = ledger["starting_equity"][day] + sum(ledger[flow][day] for flow in flows)
        assert total == pytest.approx(ending, abs=1e-12)
        assert ledger["cash_end"][day] + ledger["position_value_end"][day] == pytest.approx(ending, abs=1e-12)
    assert ledger["starting_equity"] == [1.0, ledger["ending_equity"][0]]
    assert ledger["cash_start"] == [1.0, ledger["cash_end"][0]]


def test_the_example_names_sum_to_the_ledger() -> None:
    ledger = {name: numbers(cells) for name, cells in table("ledger").items() if name != "ledger"}
    names = {name: numbers(cells) for name, cells in table("name").items() if name != "name"}
    mids = {"AAA": 10.0, "BBB": 20.0}
    for name, (quantity, mark, notional, pnl, later_mark, later_notional, later_pnl) in names.items():
        assert notional == pytest.approx(quantity * mark)
        assert pnl == pytest.approx(quantity * (mark - mids[name]))
        assert later_notional == pytest.approx(quantity * later_mark)
        assert later_pnl == pytest.approx(quantity * (later_mark - mark))
    sums = [sum(values) for values in zip(*names.values(), strict=True)]
    assert [sums[2], sums[5]] == pytest.approx(ledger["position_value_end"])
    assert [sums[3], sums[6]] == pytest.approx(ledger["market_pnl"])
    short = names["BBB"]
    assert [short[2] * 1e-4, short[5] * 1e-4] == pytest.approx(ledger["borrow_cashflow"])
    assert [cash * 1e-4 for cash in ledger["cash_start"]] == pytest.approx(ledger["cash_carry"])
    traded = sum(abs(names[name][0]) * mid for name, mid in mids.items())
    assert traded == pytest.approx(ledger["turnover_notional"][0])
    assert traded * -1e-3 == pytest.approx(ledger["execution_cost"][0])


def test_every_rule_is_explained_and_none_is_invented() -> None:
    section = (
        (DOCS / "rules.md").read_text(encoding="utf-8").partition("## Usual causes")[2].partition("\n## ")[0]
    )
    explained = re.findall(r"^\| `([a-z]+\.[a-z_]+)` \|", section, flags=re.MULTILINE)
    assert len(set(explained)) == len(explained)
    assert set(explained) == set(RULES)


def test_every_module_the_page_mentions_exists() -> None:
    engine = Path(__file__).resolve().parents[2] / "examples" / "reference_engine"
    pointed = set(re.findall(r"`(\w+\.py)`", PAGE))
    assert len(pointed) >= 8
    assert all((engine / name).is_file() for name in pointed)
