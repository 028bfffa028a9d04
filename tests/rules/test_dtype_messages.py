"""Column problems are reported in pandas' terms with the fix."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from pipeline.rules import Report
from pipeline.rules.checking import check
from pipeline.seal import Seal
from pipeline.seal.dtype_messages import nearest
from tests.support.seals import make_seal, resign, rewrite


def checked(seal: Path) -> Report:
    return check(Seal.open(str(seal)))


def written_by_pandas(seal: Path, kind: str, column: str, values: Any) -> str:
    """Rewrite a table with pandas with another column; return the check's report."""
    path = seal / f"{kind}.parquet"
    frame = pd.read_parquet(path)
    frame[column] = values(frame[column])
    frame.to_parquet(path, index=False)
    (actual,) = (x for x in checked(resign(seal)).violations if x.rule == "table.columns")
    return actual.message


@pytest.mark.parametrize(
    ("kind", "column", "values", "said"),
    [
        (
            "trades",
            "timestamp",
            lambda x: x.dt.tz_localize(None).astype("datetime64[ns]"),
            "pandas datetime64[ns] without time zone, not an instant in UTC: localise it (tz_localize('UTC')",
        ),
        (
            "portfolio",
            "timestamp",
            lambda x: x.astype("datetime64[ns, UTC]") + pd.Timedelta(1, "ns"),
            "timestamp is pandas datetime64[ns, UTC], not an instant in UTC: cut it to microseconds",
        ),
        (
            "rebalances",
            "date",
            lambda x: pd.to_datetime(x) + pd.Timedelta(16, "h"),
            "without time zone, not a day (Parquet date): drop the time of day (dt.normalize())",
        ),
        (
            "rebalances",
            "date",
            lambda x: x.astype(str),
            "date is text, not a day (Parquet date): parse it (pd.to_datetime(column).dt.normalize())",
        ),
        (
            "positions",
            "quantity",
            lambda x: x.astype(str),
            "quantity is text, not a float64: parse it (pd.to_numeric(column))",
        ),
        (
            "decisions",
            "next_open_tradeable",
            lambda x: x.astype(int),
            "next_open_tradeable is int64, not a bool: convert it (astype(bool))",
        ),
    ],
)
def test_a_type_is_reported_by_its_pandas_name_with_the_conversion(
    kind: str, column: str, values: Any, said: str, tmp_path: Path
) -> None:
    assert said in written_by_pandas(make_seal(tmp_path), kind, column, values)


def test_an_undeclared_column_is_reported_with_the_most_similar_declared_one(tmp_path: Path) -> None:
    seal = rewrite(make_seal(tmp_path), "decisions", lambda x: x.rename({"forward_return": "fwd_return"}))
    (warning,) = (x for x in checked(seal).warnings if x.rule == "table.extra")
    assert warning.message == "not declared and dropped: fwd_return (did you mean forward_return?)"
    assert warning.examples[0] == {"column": "fwd_return", "did_you_mean": "forward_return"}


def test_a_missing_column_is_reported_with_the_most_similar_undeclared_one(tmp_path: Path) -> None:
    seal = rewrite(make_seal(tmp_path), "positions", lambda x: x.rename({"mark_price": "MarkPrices"}))
    (actual,) = (x for x in checked(seal).violations if x.rule == "table.columns")
    assert actual.message == "mark_price is absent: is MarkPrices a misspelling of it?"


def test_the_fix_of_a_file_that_is_no_table_is_printed_whole(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    (seal / "pnl.parquet").write_bytes(b"not a table")
    manifest = json.loads((seal / "seal.json").read_bytes())
    digest = hashlib.sha256(b"not a table").hexdigest()
    manifest["kinds"]["pnl"] |= {"sha256": digest, "bytes": len(b"not a table")}
    (seal / "seal.json").write_text(json.dumps(manifest))
    (actual,) = (x for x in checked(seal).violations if x.rule == "table.columns")
    fix = "write it again; it may be cut off, compressed by another program or of another format"
    assert actual.examples[0]["fix"] == fix
    assert actual.message.endswith(fix)


def test_a_dissimilar_column_is_reported_without_a_suggestion(tmp_path: Path) -> None:
    seal = rewrite(make_seal(tmp_path), "pnl", lambda x: x.with_columns(mood=pl.lit("good")))
    (warning,) = (x for x in checked(seal).warnings if x.rule == "table.extra")
    assert warning.message == "not declared and dropped: mood"
    assert nearest("x" * 1_000_000, ["score"]) is None
