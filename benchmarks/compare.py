"""The comparison: `just bench` runs this.

Every server serves the same alphas on loopback and gets the same requests. First their answers are compared; then each query is
measured cold, missing and hitting caches, and compressed, in rounds over all servers.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from benchmarks import further, report
from benchmarks.alphas import prepare
from benchmarks.alternating import hits_against_constant
from benchmarks.load import Connection, LoadFailed
from benchmarks.measure import Plan, bodies, measure_server
from benchmarks.same_rows import RowsDiffer, require_same
from benchmarks.servers import PYTHON_PEERS, Constant, Datasette, Ours, Postgres, Roapi, Server
from benchmarks.workload import QUERIES, Call, Workload
from tests.support.processes import REPOSITORY

_HERE: Final = Path(__file__).resolve().parent


@click.command()
@click.option(
    "--seal",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Run to clone; by default one is simulated.",
)
@click.option("--quick", is_flag=True, help="One round, runs of one second; writes only --out.")
@click.option("--seconds", type=float, default=2.0, show_default=True, help="Each run of wrk.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Rounds over all servers; 2 by default, 1 with --quick."
)
@click.option(
    "--servers", default="", help="Only servers whose names contain one of these words, separated by commas."
)
@click.option("--queries", default="", help="Only these, separated by commas: Q1,Q4.")
@click.option(
    "--further/--no-further",
    "extras",
    default=True,
    show_default=True,
    help="Also measure a larger catalogue, two workers, memory and more; never with --quick.",
)
@click.option("--alphas", type=int, default=20, show_default=True, help="Clones of the run.")
@click.option(
    "--pointers",
    type=int,
    default=10_000,
    show_default=True,
    help="Alphas in the catalogue, including the clones.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=REPOSITORY / ".bench",
    help="Cache folder for the data.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File for the results; by default benchmarks/results.json, and RESULTS.md and the plot next to it.",
)
def main(
    *,
    seal: Path | None,
    quick: bool,
    seconds: float,
    rounds: int | None,
    servers: str,
    queries: str,
    extras: bool,
    alphas: int,
    pointers: int,
    folder: Path,
    out: Path | None,
) -> None:
    """Measure the service and the alternatives."""
    if quick:
        seconds = 1.0
    if shutil.which("wrk") is None:
        raise click.ClickException("wrk is not installed: `apt-get install wrk`")
    # On SIGTERM stop the servers too: one left running keeps its lock, and the next run would be refused.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rounds = rounds or (1 if quick else 2)
    begin = time.monotonic()
    screen = Console(stderr=True)

    def log(line: str) -> None:
        screen.print(f"[dim]{time.monotonic() - begin:6.0f} s[/]  {line}", highlight=False)

    data = prepare(folder.resolve(), seal=seal, alphas=alphas, pointers=pointers, log=log)
    chosen = tuple(query for query in QUERIES if not queries or query in queries.split(","))
    plan = Plan(Workload(data, alphas), chosen, seconds, log, restarts=1 if quick else 3)
    ours = Ours(data / "root")
    log("our answers, which the peers' are compared with")
    answers = bodies(ours, plan, data / "bodies")
    entrants = _entrants(data, ours, log, servers)
    loads = _rounds(entrants, answers, plan, rounds)
    floors = [server for server in entrants if type(server) is Constant]
    hit_ratios = hits_against_constant(ours, floors[0], plan, rounds) if floors and ours in entrants else {}
    try:
        further_results = further.measure(data, plan, rounds) if extras and not quick else {}
    except LoadFailed as error:  # do not discard the comparison, which took long
        log(f"further measurements failed: {error}")
        further_results = {}
    results = {
        "taken": dt.datetime.now(dt.UTC).isoformat(timespec="minutes"),
        "command": " ".join(["just bench", *_shown(sys.argv[1:])]),
        "took_s": round(time.monotonic() - begin),
        "data": (data / "source").read_text(),
        "alphas": alphas,
        "pointers": pointers,
        "rows": plan.workload.rows,
        "seconds": seconds,
        "rounds": rounds,
        "machine": machine(),
        "versions": versions(entrants),
        "servers": {server.name: server.about for server in entrants},
        "sizes": {query: len(pairs[0][1]) for query, pairs in answers.items()},
        "loads": loads,
        "beside": hit_ratios,
        "further": further_results,
    }
    _report(results, None if quick else _HERE / "results.json", out)


def _report(results: dict[str, Any], default: Path | None, out: Path | None) -> None:
    """Print the results and write them to `out`, or by default to results.json with page and plot."""
    report.show(results, Console(width=None if sys.stdout.isatty() else 140))
    target = default if out is None else out
    if target is not None:
        target.write_text(json.dumps(results, indent=1) + "\n")
        if target is default:
            report.write(results, target.parent)


def _rounds(
    entrants: Sequence[Server], answers: dict[str, list[tuple[Call, bytes]]], plan: Plan, rounds: int
) -> list[dict[str, Any]]:
    """Compare the rows, then measure every server in each round."""
    loads: list[dict[str, Any]] = []
    try:
        for server in entrants:
            if not isinstance(server, Ours | Constant):
                _check(server, answers, plan.log)
        for round_ in range(rounds):
            for server in entrants:
                loads += measure_server(server, plan, round_)
    finally:
        for server in entrants:
            if isinstance(server, Postgres):
                server.remove()
    return loads


def _entrants(data: Path, ours: Ours, log: Any, words: str) -> list[Server]:
    """Return the selected servers, with their databases filled."""
    wanted = [word.strip().lower() for word in words.split(",") if word.strip()]

    def selected(name: str) -> bool:
        return not wanted or any(word in name.lower() for word in wanted)

    servers: list[Server] = []
    if selected(ours.name):
        servers.append(ours)
    if selected(Constant.name):
        servers.append(Constant(data / "bodies"))
    if selected(Postgres.name):
        log("filling PostgreSQL")
        servers.append(Postgres(data / "peers"))
    servers += [peer(data / "peers") for peer in PYTHON_PEERS if selected(peer.name)]
    if selected(Roapi.name):
        servers.append(Roapi(data / "peers", data))
    if selected(Datasette.name):
        log("filling SQLite, unless it is filled already")
        servers.append(Datasette(data / "peers", data))
    return servers


def _check(server: Server, answers: dict[str, list[tuple[Call, bytes]]], log: Any) -> None:
    """Send a peer the requests that our server answered, and compare the rows."""
    with server.running() as up:
        connection = Connection(up.port, up.headers)
        compared = 0
        for query, pairs in answers.items():
            if query not in server.queries:
                continue
            for call, body in pairs:
                theirs, _ = connection.send(server.request(call))
                try:
                    require_same(call, body, theirs, server.name)
                except RowsDiffer as error:
                    raise click.ClickException(str(error)) from error
                compared += 1
        connection.close()
    log(f"{server.name}: the same rows in {compared} answers")


def machine() -> dict[str, Any]:
    """Describe the machine."""
    text = Path("/proc/cpuinfo").read_text()
    model = next(
        (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), ""
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(memory / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load": round(os.getloadavg()[0], 2),
    }


def versions(entrants: Sequence[Server]) -> dict[str, str]:
    """Return the versions of all software involved."""
    known = {"Python": platform.python_version()}
    for package in dict.fromkeys(package for server in entrants for package in server.packages):
        known[package] = importlib.metadata.version(package)
    shown = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False).stdout.split()
    known["wrk"] = shown[1].removeprefix("debian/") if len(shown) > 1 else "of unknown version"
    for server in entrants:
        if isinstance(server, Postgres):
            known["PostgreSQL"] = server.version()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if not commit.returncode:
        known["alpha-results"] = commit.stdout.strip()
    return known


def _shown(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with paths reduced to their last part."""
    return [Path(argument).name if "/" in argument else argument for argument in arguments]


if __name__ == "__main__":
    main()
