"""The workload: eight queries, each an endless sequence of distinct calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from benchmarks.alphas import alpha_id, lasting_symbols, sessions_of, weeks_of

QUERIES: Final = {
    "Q1": "one week's page of 100 rows sorted by score",
    "Q2": "a 5,000-row page of the core columns: a window of days, 20 symbols",
    "Q3": "a 5,000-row page of the core columns at an offset of 100,000 and more",
    "Q4": "500 ledger rows",
    "Q5": "500 rows of the equity curve, with its summary",
    "Q6": "the metrics of a window",
    "Q7": "walking all pages of a full panel, 5,000 rows each",
    "Q8": "the first of the alphas found by a search, 100 rows at most",
}
PAGE: Final = 5_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the workload, independent of the request format of a server.

    Attributes
    ----------
    query
        Key of :data:`QUERIES`.
    alpha
        Number of the clone; -1 for a call that names none.
    values
        Parameters by their names in /v1, and the ``date`` of a week.
    """

    query: str
    alpha: int
    values: dict[str, Any]

    @property
    def path(self) -> str:
        """Path and query as in /v1; the Python peers use the same."""
        values = dict(self.values)
        if self.query == "Q8":
            return f"/v1/alphas?{urlencode(values, quote_via=quote)}"
        base = f"/v1/alphas/{alpha_id(self.alpha)}"
        if self.query == "Q1":
            return f"{base}/rebalances/{values.pop('date')}?{urlencode(values)}"
        endpoint = {"Q4": "portfolio", "Q5": "equity-curve", "Q6": "metrics"}.get(self.query, "scores")
        return f"{base}/{endpoint}?{urlencode(values, safe=',')}"


class Workload:
    """Generates calls to the alphas of a data folder.

    Parameters
    ----------
    data
        Folder from :func:`benchmarks.alphas.prepare`.
    alphas
        Number of clones.
    """

    def __init__(self, data: Path, alphas: int) -> None:
        self.alphas = alphas
        self.weeks = weeks_of(data)
        self.sessions = sessions_of(data)
        self.symbols = [lasting_symbols(data, number) for number in range(alphas)]
        self.rows = self._rows(data)

    @staticmethod
    def _rows(data: Path) -> int:
        import polars as pl  # noqa: PLC0415 - used only here

        file = data / "peers" / "decisions" / f"{alpha_id(0)}.parquet"
        return int(pl.scan_parquet(file).select(pl.len()).collect().item())

    @property
    def pages(self) -> int:
        """Pages of a full panel."""
        return -(-self.rows // PAGE)

    def distinct(self, query: str, seed: str, alphas: list[int] | None = None) -> Iterator[Call]:
        """Yield distinct calls of a query, the alphas in turn.

        Parameters
        ----------
        query
            Key of :data:`QUERIES`.
        seed
            Calls of different seeds hardly ever coincide.
        alphas
            Numbers of the clones; all by default.
        """
        chance = random.Random(f"{query} {seed}")
        chosen = alphas if alphas is not None else list(range(self.alphas))
        if query == "Q7":
            yield from self._walks(chance, chosen)
            return
        make = getattr(self, f"_{query.lower()}")
        seen: set[str] = set()
        number = 0
        while True:
            call = make(chance, chosen[number % len(chosen)])
            if call.path not in seen:
                seen.add(call.path)
                yield call
                number += 1

    def _q1(self, chance: random.Random, alpha: int) -> Call:
        # A week has about 528 names, so every page is full.
        values = {"date": chance.choice(self.weeks), "limit": 100, "offset": chance.randrange(300)}
        return Call("Q1", alpha, values)

    def _q2(self, chance: random.Random, alpha: int) -> Call:
        # 20 names fill a page of 5,000 rows in 250 weeks.
        first = chance.randrange(len(self.weeks) - 252)
        last = chance.randrange(first + 252, len(self.weeks))
        symbols = ",".join(sorted(chance.sample(self.symbols[alpha], 20)))
        values = {"from": self.weeks[first], "to": self.weeks[last], "symbol": symbols, "limit": PAGE}
        return Call("Q2", alpha, values)

    def _q3(self, chance: random.Random, alpha: int) -> Call:
        offset = 100_000 + chance.randrange(20_000)
        return Call("Q3", alpha, {"from": self.weeks[chance.randrange(60)], "limit": PAGE, "offset": offset})

    def _q4(self, chance: random.Random, alpha: int) -> Call:
        return Call("Q4", alpha, self._ledger_window(chance))

    def _q5(self, chance: random.Random, alpha: int) -> Call:
        return Call("Q5", alpha, self._ledger_window(chance))

    def _ledger_window(self, chance: random.Random) -> dict[str, Any]:
        room = len(self.sessions) - 500
        first = chance.randrange(room // 2)
        offset = chance.randrange(room // 2)
        book = chance.choice(("long_short", "long_only"))
        return {"book": book, "from": self.sessions[first], "limit": 500, "offset": offset}

    def _q6(self, chance: random.Random, alpha: int) -> Call:
        first = chance.randrange(len(self.sessions) - 250)
        last = chance.randrange(first + 200, len(self.sessions))
        return Call("Q6", alpha, {"from": self.sessions[first], "to": self.sessions[last]})

    def _walks(self, chance: random.Random, alphas: list[int]) -> Iterator[Call]:
        """Page through one panel after another, each with a different `from` before the first week."""
        days = [
            f"{year}-{month:02d}-{day:02d}"
            for year in range(1950, 2010)
            for month in range(1, 13)
            for day in range(1, 29)
        ]
        chance.shuffle(days)
        for day in days:
            for alpha in alphas:
                for page in range(self.pages):
                    yield Call("Q7", alpha, {"from": day, "limit": PAGE, "offset": page * PAGE})

    def _q8(self, chance: random.Random, alpha: int) -> Call:
        # Searches ignore case, so random case makes distinct calls of the same search.
        del alpha
        word = chance.choice(("momentum", "reversal", "quality", "value", "carry", "drift", "breadth"))
        text = f"{word} number {chance.randrange(1, 100)}"
        spelt = "".join(letter.upper() if chance.random() < 0.5 else letter for letter in text)
        return Call("Q8", -1, {"search": spelt, "limit": 100})
