"""Types, units and meanings of published columns as a frame."""

from __future__ import annotations

import polars as pl

from datasets.snapshot import Snapshot
from schemas.tables import PUBLISHED_TABLES


def units(run: Snapshot | None = None) -> pl.DataFrame:
    """Return the type, unit and meaning of every column.

    Parameters
    ----------
    run : Snapshot or None
        Run whose columns to describe; None for every declared column.

    Returns
    -------
    polars.DataFrame
        One row per column: ``table``, ``column``, ``type``, ``unit``, ``nullable``, ``raw`` (whether it requires raw-book
        access) and ``meaning``.
    """
    rows = [
        (
            table.name,
            column.name,
            column.type.value,
            column.unit.value,
            column.nullable,
            column.raw,
            column.meaning,
        )
        for table in PUBLISHED_TABLES.values()
        for column in table.published_columns
        if run is None or column.name in run.columns(table.name)
    ]
    names = ["table", "column", "type", "unit", "nullable", "raw", "meaning"]
    types = {name: pl.Boolean if name in {"nullable", "raw"} else pl.String for name in names}
    return pl.DataFrame(rows, schema=types, orient="row")
