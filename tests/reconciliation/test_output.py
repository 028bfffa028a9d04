"""Output of a check on a terminal of eighty columns."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from pipeline.group import cli
from tests.reconciliation.ledgers import having, put
from tests.support.seals import make_seal, rewrite


@pytest.fixture(scope="module")
def seal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_seal(tmp_path_factory.mktemp("broken"), source=False)
    rewrite(made, "portfolio", put("gross_notional", pl.col("gross_notional") * 0.51234567890123, having()))
    return rewrite(made, "trades", put("quantity", pl.col("quantity") * 1.0123456789, having()))


@cache
def run_reconcile(*arguments: str) -> str:
    return CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(cli, ["check", *arguments]).stdout


def test_a_broken_rule_is_one_line_with_its_count_and_its_fix(seal: Path) -> None:
    text = re.sub(r"\n {2}(?=\S)", " ", run_reconcile(str(seal)))
    (line,) = [line for line in text.splitlines() if line.startswith("portfolio.exposure:")]
    assert re.match(r"portfolio\.exposure: \d+ rows of portfolio\.parquet\. Fix: Sum the positions", line)


def test_no_number_is_split_at_eighty_columns(seal: Path) -> None:
    text = run_reconcile(str(seal))
    shown = json.loads(run_reconcile(str(seal), "--json"))["seals"][0]
    numbers = {
        str(value)
        for violation in shown["violations"]
        for example in violation["examples"]
        for value in example.values()
        if isinstance(value, float)
    }
    assert len(numbers) > 20
    assert all(number in text for number in numbers)


def test_five_examples_are_shown_and_all_with_verbose(seal: Path) -> None:
    def examples(text: str) -> int:
        return len(
            re.findall(
                r"^    book=long_short, date=\S+ +column=gross_notional",
                text.replace("\n      ", " "),
                re.MULTILINE,
            )
        )

    few, every = run_reconcile(str(seal)), run_reconcile(str(seal), "--verbose")
    sessions = pl.read_parquet(seal / "portfolio.parquet").filter(pl.col("book") == "long_short").height
    assert examples(few) == 5
    assert examples(every) == sessions
