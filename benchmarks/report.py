"""What was measured, told: ratios first, then figures; on the terminal, as a page and as a plot."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

OURS: Final = "alpha-results"
FLOOR: Final = "constant"


class Figures:
    """Medians over the rounds.

    Parameters
    ----------
    results
        As :mod:`benchmarks.compare` writes them.
    """

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.queries = list(results["sizes"])
        self.peers = [name for name in results["servers"] if name not in {OURS, FLOOR}]

    def of(self, server: str, query: str, state: str, connections: int, field: str) -> float | None:
        """Return the median of a figure over the rounds; None where it was not measured."""
        found = [
            entry[field]
            for entry in self.results["loads"]
            if (entry["server"], entry["query"], entry["state"], entry["connections"])
            == (server, query, state, connections)
        ]
        return statistics.median(found) if found else None

    def best(self, query: str, connections: int, field: str) -> tuple[str, float] | None:
        """Return the peer with the best figure of its warm answers, and the figure: most a second, least milliseconds."""
        found = [(peer, self.of(peer, query, "miss", connections, field)) for peer in self.peers]
        known = [(peer, value) for peer, value in found if value is not None]
        if not known:
            return None
        return (min if field.endswith("_ms") else max)(known, key=lambda pair: pair[1])


def ratios(figures: Figures) -> list[tuple[str, str, float | None, str]]:
    """Return (query, what, ratio, beside) of every comparison; None where a part was not measured."""
    found: list[tuple[str, str, float | None, str]] = []
    for query in figures.queries:
        field, unit = ("bytes_a_second", "MB/s") if query == "Q7" else ("rate", "requests/s")
        best = figures.best(query, 16, field)
        ours = figures.of(OURS, query, "miss", 16, field)
        if best and ours:
            found.append((query, f"miss, {unit} at 16 connections / best peer", ours / best[1], best[0]))
        quickest = figures.best(query, 1, "p50_ms")
        p50 = figures.of(OURS, query, "miss", 1, "p50_ms")
        if quickest and p50:
            found.append((query, "miss, p50 at 1 connection / best peer", p50 / quickest[1], quickest[0]))
        cold = figures.of(OURS, query, "cold", 1, "p50_ms")
        if quickest and cold:
            found.append((query, "cold, median / best peer's warm p50", cold / quickest[1], quickest[0]))
        hit, floor = (
            figures.of(OURS, query, "hit", 16, "rate"),
            figures.of(FLOOR, query, "constant", 16, "rate"),
        )
        if hit and floor:
            found.append((query, "hit, requests/s at 16 connections / constant body", hit / floor, FLOOR))
    return found


def show(results: dict[str, Any], screen: Console) -> None:
    """Print ratios, then figures."""
    figures = Figures(results)
    table = Table("query", "what", "ratio", "against", title="Ratios, medians of the rounds")
    for query, what, ratio, against in ratios(figures):
        table.add_row(query, what, "-" if ratio is None else f"{ratio:.2f}", against)
    screen.print(table)
    table = Table(
        "query",
        "server",
        *(name for name, *_ in COLUMNS),
        title="Figures: answers a second, and milliseconds",
    )
    for query in figures.queries:
        for server in results["servers"]:
            cells = [_cell(figures.of(server, query, *column), column[-1]) for _, *column in COLUMNS]
            if any(cells):
                table.add_row(query, server, *cells)
        table.add_section()
    screen.print(table)


COLUMNS: Final = (
    ("cold ms", "cold", 1, "p50_ms"),
    ("miss ms", "miss", 1, "p50_ms"),
    ("miss/s", "miss", 16, "rate"),
    ("hit ms", "hit", 1, "p50_ms"),
    ("hit/s", "hit", 16, "rate"),
    ("const ms", "constant", 1, "p50_ms"),
    ("const/s", "constant", 16, "rate"),
)
"""Heading, state, connections and field; milliseconds are those of one connection, rates those of sixteen."""


def _cell(value: float | None, field: str) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if field.endswith("_ms") else f"{value:,.0f}"


def write(results: dict[str, Any], folder: Path) -> None:
    """Write the page and the plot beside the results."""
