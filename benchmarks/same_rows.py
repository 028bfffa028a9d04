"""Compare the rows of two servers, before their speed is measured."""

from __future__ import annotations

import math
from typing import Any, Final

import orjson

from benchmarks.workload import Call

_TOLERANCE: Final = 1e-9
"""Relative tolerance: summation order differs between servers, and some writers truncate the last digit."""
_ABSOLUTE: Final = 1e-12


class RowsDiffer(RuntimeError):
    """Two servers answer the same request with different rows."""


def rows_of(body: bytes) -> list[dict[str, Any]]:
    """Return the rows of an answer, a list or its ``data``; an object counts as one row."""
    actual = orjson.loads(body)
    rows = actual["data"] if isinstance(actual, dict) else actual
    return [rows] if isinstance(rows, dict) else rows


def require_same(call: Call, ours: bytes, theirs: bytes, peer: str) -> None:
    """Raise RowsDiffer unless a peer's answer has the rows and summary of ours.

    A key that is left out counts as null, 1 as true, and doubles may differ in their last digits.
    """
    wanted, actual = rows_of(ours), rows_of(theirs)
    if len(wanted) != len(actual):
        raise RowsDiffer(f"{peer}, {call.path}: {len(actual)} rows instead of {len(wanted)}")
    for number, (row, other) in enumerate(zip(wanted, actual, strict=True)):
        _require(row, other, f"{peer}, {call.path}, row {number}")
    summary = orjson.loads(ours)["meta"].get("summary")
    answer = orjson.loads(theirs)
    if summary is not None and isinstance(answer, dict) and "summary" in answer:
        _require(summary, answer["summary"], f"{peer}, {call.path}, summary")


def _require(wanted: dict[str, Any], actual: dict[str, Any], where: str) -> None:
    for name, value in wanted.items():
        if not _same(value, actual.get(name)):
            raise RowsDiffer(f"{where}: {name} is {actual.get(name)!r} instead of {value!r}")
    if extra := sorted(name for name in actual.keys() - wanted.keys() if actual[name] is not None):
        raise RowsDiffer(f"{where}: {', '.join(extra)} not requested")


def _same(wanted: Any, actual: Any) -> bool:
    if isinstance(wanted, float) and isinstance(actual, int | float):
        return math.isclose(wanted, actual, rel_tol=_TOLERANCE, abs_tol=_ABSOLUTE)
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return wanted.keys() == actual.keys() and all(
            _same(value, actual[name]) for name, value in wanted.items()
        )
    return bool(wanted == actual)
