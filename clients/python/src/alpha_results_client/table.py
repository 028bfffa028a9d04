"""Rows as frames of the declared types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from alpha_results_client.declared import ROWS, Column
from alpha_results_client.metrics import FIGURE
from alpha_results_client.moments import with_moments

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

F = TypeVar("F")


@dataclass(frozen=True)
class Table(Generic[F]):
    """A frame with what its answer said about it.

    Attributes
    ----------
    frame
        The rows.
    meta
        The answer's `meta`: the run, the snapshot, a summary where there is one, warnings.
    fetched_by
        ``"pages"``, or ``"link"`` when the rows come from the file of their table; they are the same either way.
    """

    frame: F
    meta: Mapping[str, Any]
    fetched_by: str = "pages"


def make_frame(rows: list[Mapping[str, Any]], model: str, frames: str) -> Any:
    """Return rows as a frame.

    The columns are those that came, in their declared order; of an empty table those that every run has. A column that this
    release does not know comes last, as it was sent.
    """
    if frames == "rows":
        return [with_moments(dict(row), model) for row in rows]
    declared = {column.name: column for column in (FIGURE if model == "metrics_figure" else ROWS[model])}
    if any("." in name for name in declared):
        rows = [_flat(row, declared) for row in rows]
    present = {name for row in rows for name in row}
    names = [name for name, column in declared.items() if (name in present if rows else not column.optional)]
    names += sorted(present - declared.keys())
    columns = {name: [row.get(name) for row in rows] for name in names}
    make = _polars if frames == "polars" else _pandas
    return make(columns, declared)


def make_wide_frame(columns: Mapping[str, Mapping[dt.date, float | None]], frames: str) -> Any:
    """Return values by day and name as a frame: a day a row, a name a column, null where a name has no value."""
    days = sorted({day for values in columns.values() for day in values})
    wide = {name: [values.get(day) for day in days] for name, values in columns.items()}
    if frames == "rows":
        return [
            {"date": day, **{name: values[i] for name, values in wide.items()}} for i, day in enumerate(days)
        ]
    declared = {"date": Column("date", "date"), **{name: Column(name, "float") for name in wide}}
    make = _polars if frames == "polars" else _pandas
    return make({"date": [day.isoformat() for day in days], **wide}, declared)


def _flat(row: Mapping[str, Any], declared: Mapping[str, Column], prefix: str = "") -> dict[str, Any]:
    """Return a row with the members of its objects as members of its own, named after both."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and f"{prefix}{name}" not in declared:
            flat.update(_flat(value, declared, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _polars(columns: dict[str, list[Any]], declared: Mapping[str, Column]) -> pl.DataFrame:
    try:
        import polars as pl  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError(
            "frames='polars' needs Polars: pip install 'alpha-results-client[polars]'"
        ) from error
    types: dict[str, Any] = {
        "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean, "text": pl.String, "texts": pl.List(pl.String),
        "objects": pl.Object,
    }  # fmt: skip
    series = []
    for name, values in columns.items():
        kind = declared[name].type if name in declared else None
        if kind is None:
            series.append(pl.Series(name, values, strict=False))
        elif kind == "date":
            series.append(pl.Series(name, values, dtype=pl.String).str.to_date("%Y-%m-%d"))
        elif kind == "instant":
            # With and without microseconds in one column: chrono's %.f takes both, and a naive time is of no zone yet.
            read = pl.Series(name, values, dtype=pl.String).str.to_datetime(
                "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us"
            )
            series.append(read.dt.replace_time_zone("UTC"))
        else:
            series.append(pl.Series(name, values, dtype=types[kind]))
    return pl.DataFrame(series)


def _pandas(columns: dict[str, list[Any]], declared: Mapping[str, Column]) -> pd.DataFrame:
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError(
            "frames='pandas' needs pandas: pip install 'alpha-results-client[pandas]'"
        ) from error
    types = {
        "float": "float64",
        "int": "Int64",
        "bool": "boolean",
        "text": "string",
        "texts": "object",
        "objects": "object",
    }
    series: dict[str, Any] = {}
    for name, values in columns.items():
        kind = declared[name].type if name in declared else None
        if kind is None:
            series[name] = pd.Series(values)
        elif kind == "date":
            series[name] = pd.to_datetime(pd.Series(values, dtype="object"), format="%Y-%m-%d").astype(
                "datetime64[us]"
            )
        elif kind == "instant":
            read = pd.to_datetime(pd.Series(values, dtype="object"), format="ISO8601", utc=True)
            series[name] = read.astype("datetime64[us, UTC]")
        else:
            series[name] = pd.Series(values, dtype=types[kind])
    return pd.DataFrame(series)
