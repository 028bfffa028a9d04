"""Report of a comparison, on the terminal and as RESULTS.md: ratios first, then figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.further import HOUR
from benchmarks.ratios import HEADINGS, Figures, ratios
from benchmarks.workload import QUERIES

COLUMNS: Final = (
    ("cold ms", "cold", 1, "p50_ms"),
    ("miss ms", "miss", 1, "p50_ms"),
    ("miss/s", "miss", 16, "rate"),
    ("miss p99 ms", "miss", 16, "p99_ms"),
    ("gzip/s", "gzip", 16, "rate"),
    ("hit ms", "hit", 1, "p50_ms"),
    ("hit/s", "hit", 16, "rate"),
    ("constant/s", "constant", 16, "rate"),
)
"""Heading, state, connections and field of the figures."""


def show(results: dict[str, Any], screen: Console) -> None:
    """Print ratios, then figures."""
    figures = Figures(results)
    table = Table(*HEADINGS, title="Ratios, medians of the rounds")
    for ratio in ratios(figures):
        table.add_row(*ratio.cells())
    screen.print(table)
    headings = [name for name, *_ in COLUMNS]
    table = Table("query", "server", *headings, title="Figures: answers a second, and milliseconds")
    for query in figures.queries:
        for row in _rows(figures, query):
            table.add_row(query, *row)
        table.add_section()
    screen.print(table)


def _rows(figures: Figures, query: str) -> Iterator[list[str]]:
    for server in figures.results["servers"]:
        cells = [
            _cell(figures.of(server, query, state, connections, field), field)
            for _, state, connections, field in COLUMNS
        ]
        if any(cells):
            yield [server, *cells]


def _cell(value: float | None, field: str) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if field.endswith("_ms") else f"{value:,.0f}"


def write(results: dict[str, Any], folder: Path) -> None:
    """Write the page and the plot next to the results."""
    from benchmarks.plot import draw  # noqa: PLC0415 - matplotlib takes a second to import, which --quick need not spend

    draw(results, folder / "results.png")
    (folder / "RESULTS.md").write_text("\n".join(_page(results)) + "\n")


def _page(results: dict[str, Any]) -> Iterator[str]:
    figures, machine = Figures(results), results["machine"]
    yield "# Benchmark results"
    yield ""
    yield f"Written by `{results['command']}` from [results.json](results.json); the next run overwrites it."
    yield (
        f"{results['taken']}, {results['took_s'] / 60:.0f} minutes; {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory_gb']} GB, {machine['system']}; load average before {machine['load']}."
    )
    yield "[How it is measured](../docs/benchmarks.md)."
    yield ""
    yield "![Answers a second at 16 connections, for each query and server](results.png)"
    yield ""
    yield "## Ratios"
    yield ""
    yield from _table(HEADINGS, (ratio.cells() for ratio in ratios(figures)))
    yield ""
    yield "## Figures"
    yield ""
    yield "Answers a second at 16 connections; medians in milliseconds at one connection, p99 at 16."
    for query in figures.queries:
        yield ""
        yield f"**{query}**, {QUERIES[query]}; {results['sizes'][query] / 1e3:,.0f} KB from this service:"
        yield ""
        yield from _table(["server", *(name for name, *_ in COLUMNS)], _rows(figures, query))
    further = list(_further(results.get("further") or {}))
    if further:
        yield from ("", "## Further measurements", "", *further)
    yield from _setup(results)


def _further(results: dict[str, Any]) -> Iterator[str]:
    if "catalogue" in results:
        part = results["catalogue"]
        yield (
            f"- p50 of Q1 at one connection: {part['few_p50_ms']:.2f} ms with {part['few']} alphas in the root, "
            f"{part['many_p50_ms']:.2f} ms with {part['many']:,}."
        )
    for query, rates in results.get("workers", {}).items():
        yield (
            f"- {query} at 16 connections, limits in Redis: {rates['1']:,.0f} requests/s with one worker, "
            f"{rates['2']:,.0f} with two; `wrk` and Redis share the cores."
        )
    if "worker_memory" in results:
        part = results["worker_memory"]
        yield (
            f"- Memory after requests for every alpha, shared pages counted once, mapped files excluded: "
            f"{part['1']:,.0f} MB with one worker, {part['2']:,.0f} MB with two."
        )
    for query, part in results.get("restart", {}).items():
        yield (
            f"- {query} after a restart: idle {part['rest_seconds']:.1f} s after the port opened; first request for each known alpha "
            f"{part['first_ms']:.2f} ms, later ones {part['warm_ms']:.2f} ms."
        )
    if "large" in results:
        part = results["large"]
        pages = "; ".join(
            f"{name} {x['large_ms']:.2f} ms (usual run {x['usual_ms']:.2f})"
            for name, x in part["pages"].items()
        )
        yield (
            f"- A run of {part['decisions']:,} decisions and {part['positions']:,} positions: built in {part['build_seconds']:.0f} s "
            f"with a peak of {part['build_peak_mib']:,} MiB; the server takes {part['large_mb']:,.0f} MB under requests, "
            f"{part['usual_mb']:,.0f} MB with the usual run. {pages}."
        )
    if "tables" in results:
        part = results["tables"]
        readers = "; ".join(f"{name} {x['wall_ms']:.0f} ms" for name, x in part["readers"].items())
        yield f"- {part['rows']:,} rows to a Polars frame in a fresh process, without imports: {readers}. Flight checks no key."
    for limit, part in results.get("neighbours", {}).get("limits", {}).items():
        yield (
            f"- Nearest {limit} alphas, any window, one connection: p50 {part['p50_ms']:.1f} ms, of it {part['p50_cpu_ms']:.1f} ms "
            f"processor time of the service; best {part['best_ms']:.1f}, p99 {part['p99_ms']:.1f}."
        )
    if "batches" in results:
        part = results["batches"]
        yield f"- {part['runs']:,} small runs in one batch of {part['jobs']} jobs: {part['runs_a_minute']:,.0f} a minute."
    if "memory" in results:
        part = results["memory"]
        yield (
            f"- Memory under {part['answers']:,} random pages in {part['seconds']} s ({HOUR:,} is an hour at a "
            f"key's default rate), plain and compressed, with `--memory-bytes {part['bound_bytes']}`: "
            f"{part['begun_bytes'] / 1e6:,.0f} MB at the start, {part['peak_bytes'] / 1e6:,.0f} MB at most."
        )


def _setup(results: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "## Setup"
    yield ""
    yield (
        f"- {results['alphas']} alphas of {results['rows']:,} decisions each, cloned from {results['data']} with "
        f"different numbers, among {results['pointers']:,} in the catalogue."
    )
    yield f"- {results['rounds']} rounds; each run of `wrk` takes {results['seconds']:g} s with one thread."
    yield "- Servers:"
    for name, about in results["servers"].items():
        yield f"  - {name}: {about}"
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield f"- Versions: {versions}."


def _table(headings: Iterable[str], rows: Iterable[list[str]]) -> Iterator[str]:
    names = list(headings)
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(names)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
