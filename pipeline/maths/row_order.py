"""Whether rows stand in order already: one pass, where a sort of strings takes many."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def in_order(rows: pl.DataFrame, order: Sequence[str]) -> bool:
    """Return whether rows ascend.

    Parameters
    ----------
    rows : polars.DataFrame
        Any rows; a null stands in order with everything.
    order : Sequence[str]
        The columns rows are ordered by, at least one, the most significant first.

    Returns
    -------
    bool
        True also for rows that agree in all the columns, and for fewer than two rows.
    """
    if rows.height < 2:
        return True
    # Series by series: an expression would wait for its turn in the engine, behind the files being written.
    ascends, tied = _steps(rows[order[0]])
    for name in order[1:]:
        above, same = _steps(rows[name])
        ascends, tied = ascends | (tied & above), tied & same
    # Nulls are passed over by `all`.
    return bool((ascends | tied).all())


def _steps(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return where a value is above the one before it, and where it is the same."""
    later, earlier = values.slice(1), values.slice(0, values.len() - 1)
    return later > earlier, later == earlier


def ordered(rows: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Return the rows sorted; themselves, without a copy, where they stand in order."""
    return rows if in_order(rows, order) else rows.sort(order)
