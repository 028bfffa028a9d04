"""Broken rows as a report shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from pipeline.rule import examples_wanted

LONGEST: Final = 80
"""Characters of a text that are shown."""


def pick_examples(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Return up to five rows as JSON-ready mappings.

    Parameters
    ----------
    frame
        The broken rows.
    columns
        What to show of them, the key first; those that are not there are left out.

    Returns
    -------
    tuple
        Days and instants as ISO-8601 text; numbers that JSON has no sign for as text.
    """
    shown = frame.head(examples_wanted(frame.height)).select(
        [name for name in dict.fromkeys(columns) if name in frame.columns]
    )
    texts = [
        pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
        if isinstance(dtype, pl.Datetime)
        else pl.col(name).cast(pl.String)
        for name, dtype in shown.schema.items()
        if dtype.is_temporal()
    ]
    floats = [name for name, dtype in shown.schema.items() if dtype.is_float()]
    rows = shown.with_columns(texts).to_dicts()
    for row in rows:
        for name in floats:
            value = row[name]
            if value is not None and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124
                row[name] = str(value)
        for name, value in row.items():
            if isinstance(value, str) and len(value) > LONGEST:
                row[name] = f"{value[: LONGEST - 3]}..."
    return tuple(rows)
