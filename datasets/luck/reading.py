"""What luck is measured on: the part that touches files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import orjson

from datasets.maths.overfitting import Matrix
from datasets.maths.series import Dates, Floats
from datasets.run_metrics.figures import Ledger
from datasets.run_metrics.reading import Frames, read_ledger, read_weekly_ic
from datasets.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that luck is measured on, whatever the window and the key.

    Attributes
    ----------
    snapshot
        Id of the snapshot.
    ledger
        Of the book; None when the run sealed none.
    weeks, ic
        Rebalance dates and the coefficient of each; None when the run sealed no cross-sections.
    searched
        Combinations of the values that the description says were tried; None when it names none.
    trials
        The returns of the trials; None when the run sealed none.
    """

    snapshot: str
    ledger: Ledger | None
    weeks: Dates | None
    ic: Floats | None
    searched: int | None
    trials: TrialReturns | None = None


@dataclass(frozen=True, slots=True)
class TrialReturns:
    """The daily returns of every trial.

    Attributes
    ----------
    date
        Days, ascending.
    returns
        A row a day, a column a trial in the order of their names.
    """

    date: Dates
    returns: Matrix


def read(frames: Frames, snapshot: Snapshot, book: str) -> Evidence:
    """Read a book's evidence.

    Raises
    ------
    SnapshotCorrupt
        When a file is gone or cannot be read.
    """
    weekly = read_weekly_ic(frames, snapshot)
    weeks, ic = (None, None) if weekly is None else weekly
    described = snapshot.description() or {}
    return Evidence(
        snapshot.id,
        read_ledger(frames, snapshot, book),
        weeks,
        ic,
        searched_combinations(described.get("parameters")),
        read_trials(frames, snapshot),
    )


def read_trials(frames: Frames, snapshot: Snapshot) -> TrialReturns | None:
    """Read the returns of the trials.

    Returns
    -------
    TrialReturns or None
        None when the run sealed none.

    Raises
    ------
    SnapshotCorrupt
        When the file is gone or cannot be read.
    """
    if not snapshot.has_rows("trials"):
        return None
    rows = frames("trials", ("trial", "date", "period_return"))
    trials = rows["trial"].n_unique()
    # Stored by trial and day, and every trial has the same days: `trials.days` refuses other seals.
    days = rows["date"][: rows.height // trials].to_numpy().astype("datetime64[D]")
    return TrialReturns(days, rows["period_return"].to_numpy().reshape(trials, days.size).T)


def searched_combinations(parameters: Iterable[Mapping[str, Any]] | None) -> int | None:
    """Count the combinations of the values that were tried of each parameter.

    Parameters
    ----------
    parameters
        As the description was sealed; None when it names none.

    Returns
    -------
    int or None
        The product of the numbers of different values, of the parameters that name any; None when none does.
    """
    counts = [
        len({orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in values})
        for values in ((parameter or {}).get("search_values") for parameter in parameters or ())
        if values
    ]
    return prod(counts) if counts else None
