"""Findings of rules: broken rows as a report shows them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from pipeline.rule import Finding, limited
from pipeline.seal.shape import short_value


def pick_examples(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Return up to five rows as JSON-ready mappings.

    Parameters
    ----------
    frame
        The broken rows.
    columns
        Columns to show, the key first; missing ones are left out.

    Returns
    -------
    tuple
        Days and instants as ISO-8601 text, long texts cut; numbers that JSON cannot represent as text.
    """
    shown = limited(frame).select([name for name in dict.fromkeys(columns) if name in frame.columns])
    texts = [
        pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
        if isinstance(dtype, pl.Datetime)
        else pl.col(name).cast(pl.String)
        for name, dtype in shown.schema.items()
        if dtype.is_temporal()
    ]
    rows = shown.with_columns(texts).to_dicts()
    return tuple({name: _json_value(value) for name, value in row.items()} for row in rows)


def _json_value(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else short_value(value)


def broken_rows(
    kind: str,
    rows: pl.DataFrame,
    columns: Sequence[str],
    message: str,
    *,
    at_fault: tuple[str, ...] = (),
    **shown: pl.Expr | str,
) -> Finding | None:
    """Report broken rows; None when there are none.

    Parameters
    ----------
    kind, message, at_fault
        As in :class:`~pipeline.rule.Finding`.
    rows
        The broken rows.
    columns
        Columns to show in the examples, the key first.
    **shown
        Columns to add for the examples, such as the expected figure.
    """
    if not rows.height:
        return None
    examples = limited(rows).with_columns(**shown) if shown else rows
    return Finding(kind, rows.height, pick_examples(examples, columns), message, at_fault)


def joined_findings(findings: Iterable[Finding | None], rows: int | None = None) -> Finding | None:
    """Report the findings of several checks of one rule together; None when there are none.

    Parameters
    ----------
    rows
        Number of broken rows, if one row may break several checks; by default the sum over the findings.
    """
    broken = [finding for finding in findings if finding is not None]
    if not broken:
        return None
    return replace(
        broken[0],
        rows=sum(finding.rows for finding in broken) if rows is None else rows,
        examples=limited([example for finding in broken for example in finding.examples]),
        message="; ".join(finding.message for finding in broken),
    )
