"""Read factor returns from an operator's file, such as those of the Fama-French library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import polars as pl

from datasets.figures.exposures import Factors
from datasets.market_data.operator_files import read_columns, refused
from schemas.errors import SettingsError
from schemas.market_data import FACTORS, MAX_FACTORS, RISK_FREE_FACTOR

_KIND: Final = "factor file"


def read_factors(files: Mapping[str, bytes]) -> Factors:
    """Decode a Parquet file of factor returns.

    Parameters
    ----------
    files : Mapping[str, bytes]
        Name -> bytes of the one Parquet file, with the columns of :data:`schemas.market_data.FACTORS`.

    Returns
    -------
    Factors
        Names in alphabetical order, days ascending.

    Raises
    ------
    SettingsError
        When there are several files, or the file is not a valid factor file; the message names the file, the rule, an example
        and the fix.
    """
    if len(files) > 1:
        raise SettingsError(
            f"factors must be in one file, and there are {', '.join(files)}: name one of them"
        )
    ((file, data),) = files.items()
    refuse = partial(refused, _KIND, file)
    rows = read_columns(FACTORS, _KIND, file, data).rows.sort(FACTORS.key)
    if rows.is_empty():
        raise refuse("there is at least one row", "there is none")
    duplicates = rows.filter(pl.struct(FACTORS.key).is_duplicated())
    if duplicates.height:
        day, factor, _ = duplicates.row(0)
        raise refuse("a factor has one row per day", f"{factor} has several on {day}")
    large = rows.filter(~(pl.col("return").is_finite() & (pl.col("return").abs() < 1.0)))
    if large.height:
        day, factor, value = large.row(0)
        raise refuse(
            "a return is a finite ratio between -1 and 1, where 0.01 is one per cent",
            f"that of {factor} on {day} is {value!r} (divide returns in per cent by 100)",
        )
    wide = rows.pivot("factor", index="date", values="return").sort("date")
    names = tuple(sorted(name for name in wide.columns if name != "date"))
    if RISK_FREE_FACTOR in names:
        raise refuse(
            f"{RISK_FREE_FACTOR} is left out, because it is a rate and not a factor",
            "the file has it; the rate comes from the ledger",
        )
    if len(names) > MAX_FACTORS:
        raise refuse(
            f"it has at most {MAX_FACTORS} factors", f"it has {len(names)}, {names[0]} to {names[-1]}"
        )
    returns = wide.select(pl.col(names).fill_null(float("nan"))).to_numpy()
    return Factors(names, wide["date"].to_numpy(), returns)
