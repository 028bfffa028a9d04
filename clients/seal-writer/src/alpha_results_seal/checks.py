"""Whether a seal will be accepted: the pipeline's own rules where it is installed, else what can be checked without it."""

from __future__ import annotations

import difflib
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from alpha_results_seal.columns import COLUMNS, KEYS, Column
from alpha_results_seal.errors import SealError

TYPES = {
    "date": pl.Date(),
    "instant": pl.Datetime("us", "UTC"),
    "float": pl.Float64(),
    "int": pl.Int64(),
    "bool": pl.Boolean(),
    "text": pl.String(),
}
_TOLERANCE = 1e-9


def typed(kind: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Bring a table's columns to their declared types and order, and refuse those that are not declared.

    Raises
    ------
    SealError
        When a column is not declared, or has values of another type.
    """
    declared = {column.name: column for column in COLUMNS[kind]}
    for name in frame.columns:
        if name not in declared:
            near = difflib.get_close_matches(name.lower(), declared, n=1, cutoff=0.6)
            hint = f": did you mean {near[0]}?" if near else f"; it has {', '.join(declared)}."
            raise SealError(f"{kind} has no column {name!r}{hint}")
    return frame.select(
        _typed(kind, frame[name], declared[name]) for name in declared if name in frame.columns
    )


def _typed(kind: str, series: pl.Series, column: Column) -> pl.Series:
    target = TYPES[column.type]
    if series.dtype == target:
        return series
    if column.type == "instant" and isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is None:
        raise SealError(
            f"{kind}.{series.name} is datetime64[{series.dtype.time_unit}] without time zone: localise it "
            "(tz_localize('UTC'), or local times with their own zone)."
        )
    if column.type == "instant" and series.dtype == pl.Date:
        raise SealError(f"{kind}.{series.name} is a day and has to be an instant: write the moment, in UTC.")
    try:
        if column.type == "instant" and isinstance(series.dtype, pl.Datetime):
            return series.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        if column.type == "date" and series.dtype == pl.String:
            return series.str.to_date()
        cast = series.cast(target)
    except pl.exceptions.PolarsError as error:
        raise SealError(
            f"{kind}.{series.name} is {series.dtype} and has to be {column.type}: {error}"
        ) from error
    if column.type == "float" and series.dtype == pl.String:
        raise SealError(f"{kind}.{series.name} is text and has to be a number: pd.to_numeric(column).")
    if (
        column.type == "date"
        and isinstance(series.dtype, pl.Datetime)
        and (cast.cast(series.dtype) != series).any()
    ):
        raise SealError(
            f"{kind}.{series.name} has times of day and has to be a day: drop them (dt.normalize())."
        )
    return cast


def cheap_problems(tables: Mapping[str, pl.DataFrame], equity_basis: float) -> list[str]:
    """Return what is wrong by the tables alone: columns, nulls, numbers, keys, codes and the sums of the ledger."""
    problems = []
    for kind, frame in tables.items():
        for column in COLUMNS[kind]:
            if column.name not in frame.columns:
                if not column.optional:
                    problems.append(
                        f"{kind}: the column {column.name} is missing and does not follow from the others"
                    )
                continue
            problems += [f"{kind}.{column.name} {said}" for said in _of_values(frame[column.name], column)]
        key = KEYS[kind]
        if key and set(key) <= set(frame.columns) and frame.select(key).is_duplicated().any():
            problems.append(f"{kind}: rows share their ({', '.join(key)})")
    if not problems and "portfolio" in tables:
        problems += _of_the_ledger(tables["portfolio"], equity_basis)
    return problems


def _of_values(series: pl.Series, column: Column) -> list[str]:
    problems = []
    if not column.nullable and series.null_count():
        problems.append(f"is null in {series.null_count()} rows")
    if series.dtype == pl.Float64 and not series.is_finite().fill_null(value=True).all():
        problems.append("is NaN or infinite: write null where that is allowed")
    if column.vocabulary and not set(series.drop_nulls().unique()) <= set(column.vocabulary):
        problems.append(f"holds other codes than {', '.join(column.vocabulary)}")
    values = series.drop_nulls()
    signs = {"> 0": "<= 0", ">= 0": "< 0", "<= 0": "> 0", "not 0": "= 0"}
    if column.bound in signs and values.len():
        broken = {"> 0": values <= 0, ">= 0": values < 0, "<= 0": values > 0, "not 0": values == 0}[
            column.bound
        ]
        if broken.any():
            problems.append(f"must be {column.bound} and is {signs[column.bound]} in {broken.sum()} rows")
    return problems


def _of_the_ledger(ledger: pl.DataFrame, equity_basis: float) -> list[str]:
    flows = ("market_pnl", "execution_cost", "borrow_cashflow", "cash_carry", "rounding_adjustment")
    ledger = ledger.sort("book", "date")
    before = pl.col("ending_equity").shift(1).over("book").fill_null(equity_basis)
    same = {
        "ending_equity is not the sum of the session's parts": (
            pl.sum_horizontal("starting_equity", *flows), pl.col("ending_equity"),
        ),
        "ending_equity is not cash_end + position_value_end": (
            pl.col("cash_end") + pl.col("position_value_end"), pl.col("ending_equity"),
        ),
        "starting_equity is not what the session before ended with": (before, pl.col("starting_equity")),
    }  # fmt: skip
    problems = []
    for said, (one, other) in same.items():
        allowed = pl.max_horizontal(one.abs(), other.abs(), pl.lit(equity_basis)) * _TOLERANCE
        rows = ledger.filter((one - other).abs() > allowed).height
        if rows:
            problems.append(f"portfolio: {said} in {rows} sessions")
    return problems


def pipeline_problems(folder: Path, manifest: bytes, *, strict: bool) -> list[str] | None:
    """Apply the rules of the format to files whose manifest is not written yet.

    Returns
    -------
    list of str or None
        One text a broken rule; None where the rules are not installed.
    """
    if sys.version_info < (3, 11):
        return None
    try:
        from pipeline.rules.checking import check  # noqa: PLC0415 -- only where it is installed
        from pipeline.seal.manifest import parse_manifest  # noqa: PLC0415 -- as above
        from pipeline.seal.seal import Seal  # noqa: PLC0415 -- as above
        from pipeline.seal.store import SealStore  # noqa: PLC0415 -- as above
    except ImportError:
        return None
    parsed, problems = parse_manifest(manifest)
    if parsed is None:
        return [f"seal.json: {x.key} must be {x.expected} and is {x.value!r}" for x in problems]
    report = check(Seal(SealStore(str(folder)), parsed, hashlib.sha256(manifest).hexdigest()))
    return [describe(violation) for violation in (*report.violations, *(report.warnings if strict else ()))]


def check_folder(folder: Path) -> dict[str, Any]:
    """Apply every rule of the format to a finished seal.

    Returns
    -------
    dict
        `violations`, `warnings` and `notices`, JSON-ready, as ``pipeline check --json`` has them.

    Raises
    ------
    SealError
        When the rules are not installed, or the seal cannot be read.
    """
    if sys.version_info < (3, 11):
        raise SealError("the rules of the format need Python 3.11 or later.")
    try:
        from pipeline.rules.checking import check  # noqa: PLC0415 -- only where it is installed
        from pipeline.seal.seal import Seal  # noqa: PLC0415 -- as above
        from schemas.errors import AlphaResultsError  # noqa: PLC0415 -- as above
        from schemas.errors import SealRefused as Refused  # noqa: PLC0415 -- as above
    except ImportError as error:
        raise SealError(
            f"the rules of the format need {error.name}: pip install 'alpha-results-seal[check]'."
        ) from error
    try:
        report: dict[str, Any] = check(Seal.open(str(folder))).to_dict()
    except Refused as refusal:
        return {"violations": list(refusal.violations), "warnings": [], "notices": []}
    except AlphaResultsError as error:
        raise SealError(str(error)) from error
    return {name: report[name] for name in ("violations", "warnings", "notices")}


def describe(violation: Any) -> str:
    """Return a broken rule in one line: where, what and the fix."""
    first = f" First: {dict(violation.examples[0])}." if violation.examples else ""
    return f"{violation.rule} ({violation.file}): {violation.message}. {violation.remedy}{first}"
