"""Ratios at the head of the report, each with its aim."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.further import MEMORY_ALLOWANCE
from benchmarks.table_downloads import BY_PAGES, ratios_of

OURS: Final = "alpha-results"
FLOOR: Final = "constant"
SPECIAL: Final = ("Polars, tuned",)
"""Servers written for a single query: reported along with the general peers, never as the best peer."""
_PAGES: Final = frozenset({"Q1", "Q2", "Q3", "Q4", "Q5"})
_LONG_PAGES: Final = frozenset({"Q2", "Q3", "Q7"})
"""Pages of 5,000 rows."""
_MOST_MS: Final = {"Q6": 15.0, "Q8": 5.0}
"""Query -> maximum p50 in milliseconds at one connection."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A comparison.

    Attributes
    ----------
    query
        Query, or topic of a further measurement.
    what
        Numerator and denominator, with their unit.
    value
        The quotient, or an absolute figure where `what` says so.
    against
        Server of the denominator.
    least, most
        Bounds of the aim; None without one.
    """

    query: str
    what: str
    value: float
    against: str
    least: float | None = None
    most: float | None = None

    @property
    def aim(self) -> str:
        """The aim as text; empty without one."""
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"

    @property
    def reached(self) -> str:
        """`yes` or `NO`; empty without an aim."""
        if not self.aim:
            return ""
        met = self.value >= self.least if self.least is not None else self.value <= (self.most or 0)
        return "yes" if met else "NO"

    def cells(self) -> list[str]:
        """Return the cells of its row in a table."""
        return [self.query, self.what, f"{self.value:.2f}", self.aim, self.reached, self.against]


HEADINGS: Final = ("query", "what", "ratio", "aim", "reached", "against")


class Figures:
    """Medians over the rounds.

    Parameters
    ----------
    results
        The document that :mod:`benchmarks.compare` writes.
    """

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.queries = list(results["sizes"])
        self.peers = [name for name in results["servers"] if name not in {OURS, FLOOR, *SPECIAL}]

    def of(self, server: str, query: str, state: str, connections: int, field: str) -> float | None:
        """Return the median of a figure over the rounds; None if it was not measured."""
        values = [
            entry[field]
            for entry in self.results["loads"]
            if (entry["server"], entry["query"], entry["state"], entry["connections"])
            == (server, query, state, connections)
        ]
        return statistics.median(values) if values else None

    def best(self, query: str, connections: int, field: str, state: str = "miss") -> tuple[str, float] | None:
        """Return the best peer and its figure: the highest rate or the lowest time."""
        figures = [(peer, self.of(peer, query, state, connections, field)) for peer in self.peers]
        known = [(peer, value) for peer, value in figures if value is not None]
        if not known:
            return None
        return (min if field.endswith("_ms") else max)(known, key=lambda pair: pair[1])


def ratios(figures: Figures) -> Iterator[Ratio]:
    """Yield every ratio whose numerator and denominator were measured."""
    hits = figures.results.get("beside") or {}
    for query in figures.queries:
        yield from _misses(figures, query)
        yield from _gzip(figures, query)
        if query in hits:
            what = "hit / constant body, answers a processor second"
            yield Ratio(query, what, statistics.median(hits[query]), FLOOR, least=0.45)
    yield from _further(figures.results.get("further") or {})


def _misses(figures: Figures, query: str) -> Iterator[Ratio]:
    field, unit = ("bytes_a_second", "MB/s") if query == "Q7" else ("rate", "requests/s")
    ours, p50 = (
        figures.of(OURS, query, "miss", 16, field),
        figures.of(OURS, query, "miss", 1, "p50_ms"),
    )
    best, quickest = figures.best(query, 16, field), figures.best(query, 1, "p50_ms")
    pages = query in _PAGES
    if best and ours:
        what = f"miss, {unit} at 16 connections / best peer"
        yield Ratio(query, what, ours / best[1], best[0], least=2.0 if pages else None)
    if quickest and p50:
        what = "miss, p50 at 1 connection / best peer"
        yield Ratio(query, what, p50 / quickest[1], quickest[0], most=0.6 if pages else None)
    for special in SPECIAL:
        rate = figures.of(special, query, "miss", 16, "rate")
        if rate and ours:
            what = "miss, requests/s at 16 connections / a server for this query alone"
            yield Ratio(query, what, ours / rate, special)
    first = figures.of(OURS, query, "cold", 1, "p50_ms")
    if quickest and first and query not in {"Q7", "Q8"}:
        yield Ratio(query, "cold, median / best peer's warm p50", first / quickest[1], quickest[0])
    if p50 and query in _MOST_MS:
        yield Ratio(query, "miss, p50 at 1 connection in ms", p50, "", most=_MOST_MS[query])


def _gzip(figures: Figures, query: str) -> Iterator[Ratio]:
    ours, best = figures.of(OURS, query, "gzip", 16, "rate"), figures.best(query, 16, "rate", "gzip")
    if ours and best:
        least = 5.0 if query in _LONG_PAGES else None
        yield Ratio(query, "miss with gzip, requests/s / best peer", ours / best[1], best[0], least=least)


def _further(results: dict[str, Any]) -> Iterator[Ratio]:
    if "catalogue" in results:
        part = results["catalogue"]
        what = f"p50 with {part['many']:,} alphas in the root / with {part['few']}"
        yield Ratio("Q1", what, part["many_p50_ms"] / part["few_p50_ms"], OURS, most=1.3)
    for query, rates in results.get("workers", {}).items():
        yield Ratio(query, "miss, requests/s of two workers / one", rates["2"] / rates["1"], OURS)
    if "worker_memory" in results:
        two, one = (results["worker_memory"][count] for count in ("2", "1"))
        yield Ratio("all", "memory of two workers / one, after requests for all alphas", two / one, OURS)
    for query, part in results.get("restart", {}).items():
        what = "first request for a known alpha after a restart / warm miss, medians"
        yield Ratio(query, what, part["first_ms"] / part["warm_ms"], OURS)
    for name, part in results.get("large", {}).get("pages", {}).items():
        what = f"{name}, p50 of the large run / of the usual one"
        yield Ratio("large", what, part["large_ms"] / part["usual_ms"], OURS, most=1.5)
    for what, ratio in ratios_of(results["tables"]) if "tables" in results else ():
        yield Ratio("table", what, ratio, OURS, least=10.0 if BY_PAGES in what else None)
    if "neighbours" in results:
        yield from _neighbours(results["neighbours"])
    if "batches" in results:
        rate = results["batches"]["runs_a_minute"]
        yield Ratio("batch", "small runs published a minute", rate, "", least=300)
    if "memory" in results:
        part = results["memory"]
        allowed = part["bound_bytes"] + MEMORY_ALLOWANCE
        bounds = f"({part['bound_bytes'] / 1e6:.0f} + {MEMORY_ALLOWANCE / 1e6:.0f} MB)"
        what = f"memory under random pages / {bounds}"
        yield Ratio("all", what, part["peak_bytes"] / allowed, "", most=1.0)


def _neighbours(results: dict[str, Any]) -> Iterator[Ratio]:
    among = f"of {results['alphas']:,} alphas with {results['sessions']:,} days"
    plain = results["plain_numpy"]["p50_ms"]
    for limit, part in results["limits"].items():
        what = f"nearest {limit} {among}"
        yield Ratio("neighbours", f"{what}, p99 in ms", part["p99_ms"], OURS, most=60.0)
        yield Ratio("neighbours", f"{what}, p50 / plain NumPy's", part["p50_ms"] / plain, "NumPy")
    yield Ratio("neighbours", f"memory of the search {among}, MiB", results["mib"], "", most=100.0)
