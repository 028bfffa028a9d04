"""What was measured, told: ratios first, then figures; on the terminal, as a page and as a plot."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.further import ALLOWED_BESIDE, HOUR
from benchmarks.neighbours import MOST_MIB, MOST_MS
from benchmarks.turns import medians
from benchmarks.whole_tables import BY_PAGES, ratios_of
from benchmarks.workload import QUERIES

OURS: Final = "alpha-results"
FLOOR: Final = "constant"
OTHER_FLOOR: Final = "constant, Granian"
EARLIER: Final = "earlier"
NO_MORE_TIME: Final = 1.03
"""What a change may make of an earlier checkout's time."""
SPECIAL: Final = ("Polars, tuned",)
"""Made for one query, and of no use for the others: told beside the peers, which answer whatever is asked."""
COLUMNS: Final = (
    ("cold ms", "cold", 1, "p50_ms"),
    ("miss ms", "miss", 1, "p50_ms"),
    ("miss/s", "miss", 16, "rate"),
    ("miss p99 ms", "miss", 16, "p99_ms"),
    ("gzip/s", "gzip", 16, "rate"),
    ("any coding/s", "any", 16, "rate"),
    ("hit ms", "hit", 1, "p50_ms"),
    ("hit/s", "hit", 16, "rate"),
    ("const/s", "constant", 16, "rate"),
)
"""Heading, state, connections and field; plain milliseconds are those of one connection."""


_COMPRESSED: Final = frozenset({"Q1", "Q2", "Q3", "Q4", "Q5"})
"""Queries of whose answers in a coding something is promised."""
_BY_TURNS: Final = (
    ("constant", "hit / constant body", FLOOR, 0.7, frozenset({"Q1", "Q4", "Q5", "Q8"})),
    ("gzip", "miss, gzip / plain", OURS, 0.8, _COMPRESSED),
    ("any", "miss, every coding accepted / plain", OURS, 0.9, _COMPRESSED),
)
"""State, what is divided by what, against whom, what it is to reach, and for which queries."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A comparison.

    Attributes
    ----------
    query, what
        Which of the queries, or a dash; and what is divided by what.
    value
        The quotient, or an absolute figure where `what` says so.
    against
        The peer it was measured against.
    least, most
        What it is to reach; None where nothing was promised.
    """

    query: str
    what: str
    value: float
    against: str
    least: float | None = None
    most: float | None = None

    @property
    def aim(self) -> str:
        """What it is to reach, in words."""
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"

    @property
    def reached(self) -> str:
        """Whether it does; empty when nothing was promised."""
        if not self.aim:
            return ""
        held = self.value >= self.least if self.least is not None else self.value <= (self.most or 0)
        return "yes" if held else "NO"


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
        self.peers = [
            name for name in results["servers"] if name not in {OURS, EARLIER, FLOOR, OTHER_FLOOR, *SPECIAL}
        ]

    def of(self, server: str, query: str, state: str, connections: int, field: str) -> float | None:
        """Return the median of a figure over the rounds; None where it was not measured."""
        found = [
            entry[field]
            for entry in self.results["loads"]
            if (entry["server"], entry["query"], entry["state"], entry["connections"])
            == (server, query, state, connections)
        ]
        return statistics.median(found) if found else None

    def best(self, query: str, connections: int, field: str, state: str = "miss") -> tuple[str, float] | None:
        """Return the peer with the best figure of its warm answers, and the figure: most a second, least milliseconds."""
        found = [(peer, self.of(peer, query, state, connections, field)) for peer in self.peers]
        known = [(peer, value) for peer, value in found if value is not None]
        if not known:
            return None
        return (min if field.endswith("_ms") else max)(known, key=lambda pair: pair[1])


def ratios(figures: Figures) -> Iterator[Ratio]:
    """Yield every comparison whose parts were measured."""
    yield from _since(figures.results.get("earlier") or ())
    beside = {
        (entry["query"], entry["state"]): statistics.median(entry["pairs"])
        for entry in figures.results.get("beside") or ()
    }
    for query in figures.queries:
        yield from _of_query(figures, query)
        yield from _compressed(figures, query)
        yield from _by_turns(beside, query)
    yield from _further(figures.results.get("further") or {})


def _since(turns: Sequence[dict[str, Any]]) -> Iterator[Ratio]:
    """Compare with an earlier checkout, where one took part."""
    what = {"time": "time of an answer at one connection", "processor": "processor time"}
    for query, state, figure, value in medians(turns):
        yield Ratio(query, f"{state}, {what[figure]} / earlier", value, EARLIER, most=NO_MORE_TIME)


def _of_query(figures: Figures, query: str) -> Iterator[Ratio]:
    pages = query in {"Q1", "Q2", "Q3", "Q4"}
    field, unit = ("bytes_a_second", "MB/s") if query == "Q7" else ("rate", "requests/s")
    best, ours = figures.best(query, 16, field), figures.of(OURS, query, "miss", 16, field)
    if best and ours:
        least = 5.0 if query == "Q7" else 3.0 if pages else None
        yield Ratio(
            query, f"miss, {unit} at 16 connections / best peer", ours / best[1], best[0], least=least
        )
    quickest, p50 = figures.best(query, 1, "p50_ms"), figures.of(OURS, query, "miss", 1, "p50_ms")
    if quickest and p50:
        most = 0.5 if pages else None
        yield Ratio(query, "miss, p50 at 1 connection / best peer", p50 / quickest[1], quickest[0], most=most)
    for special in SPECIAL:
        theirs = (
            figures.of(special, query, "miss", 16, "rate"),
            figures.of(special, query, "miss", 1, "p50_ms"),
        )
        if theirs[0] and ours:
            yield Ratio(
                query,
                "miss, requests/s at 16 connections / a server of this query alone",
                ours / theirs[0],
                special,
            )
        if theirs[1] and p50:
            yield Ratio(
                query, "miss, p50 at 1 connection / a server of this query alone", p50 / theirs[1], special
            )
    first = figures.of(OURS, query, "cold", 1, "p50_ms")
    if quickest and first and query not in {"Q7", "Q8"}:
        most = 1.0 if query in {"Q1", "Q4"} else None
        yield Ratio(
            query,
            "cold, median / best peer's warm p50",
            first / quickest[1],
            quickest[0],
            most=most,
        )
    yield from _floors(figures, query)
    promised = {"Q6": 15.0, "Q8": 5.0}.get(query)
    if promised and p50:
        yield Ratio(query, "miss, p50 at 1 connection in ms", p50, "", most=promised)


def _floors(figures: Figures, query: str) -> Iterator[Ratio]:
    """Compare with servers that answer a body they were given."""
    hit = figures.of(OURS, query, "hit", 16, "rate")
    for floor in (FLOOR, OTHER_FLOOR):
        rate = figures.of(floor, query, "constant", 16, "rate")
        if hit and rate:
            yield Ratio(query, "hit, requests/s at 16 connections / constant body", hit / rate, floor)


def _by_turns(beside: dict[tuple[str, str], float], query: str) -> Iterator[Ratio]:
    """Compare what was asked by turns: of requests a second at 16 connections, half is what else the machine does meanwhile."""
    for state, what, against, least, queries in _BY_TURNS:
        if (query, state) in beside:
            yield Ratio(
                query,
                f"{what}, answers a processor second, by turns",
                beside[query, state],
                against,
                least=least if query in queries else None,
            )


def _compressed(figures: Figures, query: str) -> Iterator[Ratio]:
    """Compare answers in a coding with plain ones, and with what the peers' middleware sends."""
    plain = figures.of(OURS, query, "miss", 16, "rate")
    for state, what in (("gzip", "gzip"), ("any", "every coding accepted")):
        coded = figures.of(OURS, query, state, 16, "rate")
        if coded and plain:
            yield Ratio(query, f"miss, requests/s, {what} / plain", coded / plain, OURS)
        best = figures.best(query, 16, "rate", state)
        if coded and best:
            tenfold = 10.0 if query in _COMPRESSED and state == "gzip" else None
            yield Ratio(
                query, f"miss, requests/s, {what} / best peer's", coded / best[1], best[0], least=tenfold
            )


def _further(found: dict[str, Any]) -> Iterator[Ratio]:
    if "catalogue" in found:
        part = found["catalogue"]
        what = f"p50 with {part['many']:,} alphas in the root / with {part['few']}"
        yield Ratio("Q1", what, part["many_p50_ms"] / part["few_p50_ms"], OURS, most=1.3)
    for query, rates in found.get("workers", {}).items():
        yield Ratio(query, "miss, requests/s of two workers / one", rates["2"] / rates["1"], OURS, least=1.6)
    if "worker_memory" in found:
        two, one = (found["worker_memory"][count] for count in ("2", "1"))
        yield Ratio("all", "memory of two workers / one, all alphas asked for", two / one, OURS, most=1.2)
    for query, part in found.get("restart", {}).items():
        what = "first request after a restart, of an alpha served before / warm miss, medians"
        yield Ratio(query, what, part["first_ms"] / part["warm_ms"], OURS, most=1.3)
    for what, part in found.get("large", {}).get("pages", {}).items():
        yield Ratio(
            "large",
            f"{what}, p50 of the large run / of the usual one",
            part["large_ms"] / part["usual_ms"],
            OURS,
            most=1.5,
        )
    for what, ratio in ratios_of(found["tables"]) if "tables" in found else ():
        yield Ratio("table", what, ratio, OURS, least=10.0 if BY_PAGES in what else None)
    if "neighbours" in found:
        yield from _neighbours(found["neighbours"])
    if "batches" in found:
        yield Ratio(
            "batch", "small runs published a minute", found["batches"]["runs_a_minute"], "", least=300
        )
    if "memory" in found:
        part = found["memory"]
        allowed = part["bound_bytes"] + ALLOWED_BESIDE
        what = f"resident memory under random pages / ({part['bound_bytes'] / 1e6:.0f} + {ALLOWED_BESIDE / 1e6:.0f} MB)"
        yield Ratio("all", what, part["peak_bytes"] / allowed, "", most=1.0)


def _neighbours(found: dict[str, Any]) -> Iterator[Ratio]:
    among = f"of {found['alphas']:,} alphas with {found['sessions']:,} days"
    for limit, part in found["limits"].items():
        what = f"nearest {limit} {among}"
        yield Ratio("neighbours", f"{what}, p99 in ms", part["p99_ms"], OURS, most=MOST_MS)
        yield Ratio("neighbours", f"{what}, p99 of processor time in ms", part["p99_cpu_ms"], OURS)
        yield Ratio(
            "neighbours",
            f"{what}, p50 / plain NumPy's",
            part["p50_ms"] / found["plain_numpy"]["p50_ms"],
            "NumPy",
        )
    yield Ratio("neighbours", f"memory for the search {among}, MiB", found["mib"], "", most=MOST_MIB)


def show(results: dict[str, Any], screen: Console) -> None:
    """Print ratios, then figures."""
    figures = Figures(results)
    table = Table(
        "query", "what", "ratio", "aim", "reached", "against", title="Ratios, medians of the rounds"
    )
    for one in ratios(figures):
        table.add_row(one.query, one.what, f"{one.value:.2f}", one.aim, one.reached, one.against)
    screen.print(table)
    headings = [name for name, *_ in COLUMNS]
    table = Table("query", "server", *headings, title="Figures: answers a second, and milliseconds")
    for query in figures.queries:
        for row in _rows(figures, query):
            table.add_row(*row)
        table.add_section()
    screen.print(table)


def _rows(figures: Figures, query: str) -> Iterator[list[str]]:
    for server in figures.results["servers"]:
        cells = [
            _cell(figures.of(server, query, state, connections, field), field)
            for _, state, connections, field in COLUMNS
        ]
        if any(cells):
            yield [query, server, *cells]


def _cell(value: float | None, field: str) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if field.endswith("_ms") else f"{value:,.0f}"


def write(results: dict[str, Any], folder: Path) -> None:
    """Write the page and the plot beside the results."""
    from benchmarks.plot import draw  # noqa: PLC0415 - matplotlib takes a second that a quick look need not spend

    draw(results, folder / "results.png")
    (folder / "RESULTS.md").write_text("\n".join(_page(results)) + "\n")


def _page(results: dict[str, Any]) -> Iterator[str]:
    figures, machine = Figures(results), results["machine"]
    yield "# Benchmarks: what was measured"
    yield ""
    yield f"Written by `{results['command']}` from [results.json](results.json); a re-run overwrites it."
    yield (
        f"{results['taken']}, {results['took_s'] / 60:.0f} minutes; {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory_gb']} GB, {machine['system']}, load average at the end {machine['load']}."
    )
    yield ""
    yield "![Answers a second at 16 connections, for each query and server](results.png)"
    yield ""
    yield "## Ratios"
    yield ""
    yield from _table(
        ["query", "what", "ratio", "aim", "reached", "against"],
        ([x.query, x.what, f"{x.value:.2f}", x.aim, x.reached, x.against] for x in ratios(figures)),
    )
    yield ""
    yield "## Figures"
    yield ""
    yield "Answers a second are at 16 connections, milliseconds are medians at one connection but for the p99, at 16."
    for query in figures.queries:
        yield ""
        yield f"**{query}**, {QUERIES[query]}; {results['sizes'][query] / 1e3:,.0f} KB of ours:"
        yield ""
        yield from _table(
            ["server", *(name for name, *_ in COLUMNS)], (row[1:] for row in _rows(figures, query))
        )
    yield from _told_further(results.get("further") or {})
    yield from _how(results)


def _told_further(found: dict[str, Any]) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield "## Further"
    yield ""
    if "catalogue" in found:
        part = found["catalogue"]
        yield (
            f"- p50 of Q1 at one connection: {part['few_p50_ms']:.2f} ms with {part['few']} alphas in the root, "
            f"{part['many_p50_ms']:.2f} ms with {part['many']:,}."
        )
    for query, rates in found.get("workers", {}).items():
        yield (
            f"- {query} at 16 connections, calls counted in Redis: {rates['1']:,.0f} requests/s with one worker, "
            f"{rates['2']:,.0f} with two; `wrk` and Redis run on the same cores."
        )
    if "worker_memory" in found:
        part = found["worker_memory"]
        yield (
            f"- Memory of the processes once every alpha was asked for, shared pages counted once and files left out: "
            f"{part['1']:,.0f} MB with one worker, {part['2']:,.0f} MB with two."
        )
    for query, part in found.get("restart", {}).items():
        yield (
            f"- {query} after a restart, alphas served before: at rest {part['rest_seconds']:.1f} s after its port opened, then "
            f"{part['first_ms']:.2f} ms for the first request of each, {part['warm_ms']:.2f} ms later."
        )
    if "large" in found:
        part = found["large"]
        yield (
            f"- A run of {part['decisions']:,} decisions and {part['positions']:,} positions: built in {part['build_seconds']:.0f} s "
            f"with {part['build_peak_mib']:,} MiB at most; the server holds {part['large_mb']:,.0f} MB while it is asked, and "
            f"{part['usual_mb']:,.0f} MB with the usual run. "
            + "; ".join(
                f"{what} {x['large_ms']:.2f} ms beside {x['usual_ms']:.2f}"
                for what, x in part["pages"].items()
            )
            + "."
        )
    if "tables" in found:
        part = found["tables"]
        yield (
            f"- {part['rows']:,} rows to a Polars frame from an empty process, beyond its imports: "
            + "; ".join(f"{name} {x['wall_ms']:.0f} ms" for name, x in part["readers"].items())
            + ". Flight checks no key. Delta Sharing's server is no Python package, and Quack's comes from its makers' host alone."
        )
    for limit, part in found.get("neighbours", {}).get("limits", {}).items():
        yield (
            f"- Nearest {limit} alphas, any window, one connection: p50 {part['p50_ms']:.1f} ms, of the service's processor "
            f"{part['p50_cpu_ms']:.1f}; best {part['best_ms']:.1f}, p99 {part['p99_ms']:.1f}."
        )
    yield from _told_of_batches_and_memory(found)


def _told_of_batches_and_memory(found: dict[str, Any]) -> Iterator[str]:
    if "batches" in found:
        part = found["batches"]
        yield f"- {part['runs']:,} small runs in one batch of {part['jobs']} jobs: {part['runs_a_minute']:,.0f} a minute."
    if "memory" in found:
        part = found["memory"]
        yield (
            f"- Resident memory under {part['answers']:,} random pages of everything in {part['seconds']} s (an hour's worth at a "
            f"key's default rate is {HOUR:,}), plain and "
            f"compressed, with `--memory-bytes {part['bound_bytes']}`: {part['begun_bytes'] / 1e6:,.0f} MB at the start, "
            f"{part['peak_bytes'] / 1e6:,.0f} MB at most."
        )


def _how(results: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "## How"
    yield ""
    yield (
        f"- {results['alphas']} alphas of {results['rows']:,} decisions each, cloned in shape from {results['data']}, with "
        f"different numbers each, among {results['pointers']:,} in the catalogue; the files are in the page cache."
    )
    yield (
        f"- Each server in turn on loopback, rounds interleaved: {results['rounds']}; every run of `wrk` "
        f"{results['seconds']:g} s with one thread; the figures are medians of the rounds. Before, all answered the "
        "same requests with the same rows."
    )
    yield (
        "- *cold*: the first request for an alpha by a fresh process, one connection, a client in Python, right after "
        "a request that wakes the machine up; the peers in memory have read everything when they first "
        "answer. *miss*: a request never sent before, its alpha asked for already. *hit*: the same 64 requests over and "
        "over (Q7: the same walk). Peers keep no answers: theirs are all misses. "
        "*gzip* and *any coding*: misses with `Accept-Encoding: gzip` and with `gzip, deflate, br, zstd`; peers with the "
        "framework's own gzip middleware, and none of those that send everything plain."
    )
    yield "- The servers:"
    for name, about in results["servers"].items():
        yield f"  - {name}: {about}"
    yield (
        "- Versions: " + ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "."
    )


def _table(headings: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
