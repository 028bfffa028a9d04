"""Rows as frames of the declared types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from alpha_results_client.declared import ROWS, Column
from alpha_results_client.metrics import FIGURE
from alpha_results_client.moments import read_moments, with_moments

F = TypeVar("F")


@dataclass(frozen=True)
class Table(Generic[F]):
    """A frame with the `meta` of its answer.

    Attributes
    ----------
    frame
        The rows.
    meta
        The answer's `meta`: the run, the snapshot, warnings, and for some endpoints a summary.
    fetched_by
        ``"pages"``, or ``"link"`` if the rows were read from the table's file; they are the same either way.
    """

    frame: F
    meta: Mapping[str, Any]
    fetched_by: str = "pages"


def make_frame(
    rows: list[Mapping[str, Any]], model: str, frames: str, sample: Sequence[Mapping[str, Any]] = ()
) -> Any:
    """Return rows as a frame.

    The columns are those received, in declared order; for an empty table those of the sample, other rows of the same table, or
    those that every run has. Columns unknown to this release come last, unconverted.
    """
    if frames == "rows":
        return [with_moments(dict(row), model) for row in rows]
    declared = {column.name: column for column in (FIGURE if model == "metrics_figure" else ROWS[model])}
    if any("." in name for name in declared):
        rows = [_flat(row, declared) for row in rows]
    present = {name for row in rows or sample for name in row}
    names = [
        name for name, column in declared.items() if (name in present if present else not column.optional)
    ]
    names += sorted(present - declared.keys())
    columns = {
        name: read_moments([row.get(name) for row in rows], declared[name].type if name in declared else "")
        for name in names
    }
    return _typed(columns, declared, frames)


def make_wide_frame(columns: Mapping[str, Mapping[dt.date, float | None]], frames: str) -> Any:
    """Return values by day and name as a frame: one row per day, one column per name, null for missing values."""
    days = sorted({day for values in columns.values() for day in values})
    wide = {name: [values.get(day) for day in days] for name, values in columns.items()}
    if frames == "rows":
        return [
            {"date": day, **{name: values[i] for name, values in wide.items()}} for i, day in enumerate(days)
        ]
    declared = {"date": Column("date", "date"), **{name: Column(name, "float") for name in wide}}
    return _typed({"date": days, **wide}, declared, frames)


def _flat(row: Mapping[str, Any], declared: Mapping[str, Column], prefix: str = "") -> dict[str, Any]:
    """Return a row with flattened objects; a member is named ``object.member``."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and f"{prefix}{name}" not in declared:
            flat.update(_flat(value, declared, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _typed(columns: Mapping[str, list[Any]], declared: Mapping[str, Column], frames: str) -> Any:
    """Return columns as a frame with declared types."""
    try:
        library = import_module(frames)
    except ImportError as error:
        raise ImportError(
            f"frames={frames!r} needs {frames}: pip install 'alpha-results-client[{frames}]'"
        ) from error
    types = polars_types(library) if frames == "polars" else _PANDAS_TYPES
    series = {}
    for name, values in columns.items():
        if name in declared:
            series[name] = library.Series(values, dtype=types[declared[name].type])
        else:
            series[name] = library.Series(values, **({"strict": False} if frames == "polars" else {}))
    return library.DataFrame(series)


_PANDAS_TYPES = {
    "float": "float64", "int": "Int64", "bool": "boolean", "text": "string", "texts": "object", "objects": "object",
    "date": "datetime64[us]", "instant": "datetime64[us, UTC]",
}  # fmt: skip


def polars_types(pl: Any) -> Mapping[str, Any]:
    """Return Polars types by declared type."""
    return {
        "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean, "text": pl.String, "texts": pl.List(pl.String),
        "objects": pl.List, "date": pl.Date, "instant": pl.Datetime("us", "UTC"),
    }  # fmt: skip
