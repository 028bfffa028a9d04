"""A few seals of each alpha, with their contents read from the files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.kinds import TABLE_KINDS
from tests.support.seals import make_seal, rewrite

ALPHAS: Final = ("Test_one", "Test_two", "Prod_three")
ABSENT: Final = "Test_nowhere"
_DAYS: Final = (1, 2, 2, 3)
"""Times at which the runs of an alpha were sealed; two of them are equal."""


@dataclass(frozen=True)
class Run:
    """A seal and the expected answers once served.

    Attributes
    ----------
    number
        Its position among the runs of its alpha.
    name
        Name in the list of alphas.
    described
        Whether it has a written description.
    scores, weeks
        Rows of `/scores` and `/rebalances`, in served order.
    """

    seal: Path
    number: int
    sealed_at: str
    started_at: str
    name: str
    described: bool
    scores: tuple[tuple[str, str, float | None], ...]
    weeks: tuple[tuple[str, str, int], ...]


Runs = Mapping[str, tuple[Run, ...]]


def make_runs(folder: Path) -> Runs:
    """Make the seals of every alpha."""
    return {
        alpha: tuple(_make_run(folder / str(number), alpha, place, number) for number in range(len(_DAYS)))
        for place, alpha in enumerate(ALPHAS)
    }


def _make_run(folder: Path, alpha: str, place: int, number: int) -> Run:
    described = number != 1
    seal = make_seal(
        folder,
        alpha_id=alpha,
        seed=4 * place + number,
        weeks=12 + number % 2,
        raw=False,
        skipped=False,
        pending=False,
        metrics=False,
        source=False,
        description=described,
        without_kinds=set(TABLE_KINDS) - {"rebalances", "decisions"},
        started_at=f"2026-01-0{(place + number) % 3 + 1}T06:00:00Z",
        sealed_at=f"2026-02-0{_DAYS[number]}T07:00:00Z",
    )
    name = f"{alpha}, run {number}" if described else alpha
    if described:
        rewrite(seal, "description", lambda document: {**document, "name": name})
    manifest: dict[str, Any] = json.loads((seal / "seal.json").read_text())
    decisions = pl.read_parquet(seal / "decisions.parquet").sort("date", "symbol")
    weeks = pl.read_parquet(seal / "rebalances.parquet").sort("date")
    names = Counter(str(day) for day in decisions["date"])
    return Run(
        seal,
        number,
        manifest["sealed_at"],
        manifest["started_at"],
        name,
        described,
        tuple(
            (str(day), symbol, score) for day, symbol, score in decisions["date", "symbol", "score"].rows()
        ),
        tuple((str(day), status, names[str(day)]) for day, status in weeks["date", "week_status"].rows()),
    )
