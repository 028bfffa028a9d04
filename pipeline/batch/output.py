"""Output of a batch command: progress, one line per build as text or JSON, and a summary."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
from rich.table import Column
from rich.text import Text

from datasets.provenance.archives import FAILED
from pipeline.batch.batch import Batch
from pipeline.batch.result import NOT_STARTED, STILL_REFUSED, SUCCESSES, SealResult
from pipeline.batch.run import Step
from pipeline.progress import Display
from pipeline.rules.layout import notice_lines, print_lines, violation_lines
from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.exit_codes import ExitCode
from schemas.instants import utc_text
from schemas.plurals import counted

if TYPE_CHECKING:
    from pipeline.batch.metrics_file import MetricsFile

SHOWN_RULES = 5
"""Maximum broken rules per seal in the table; the lines above it list all of them."""
SHOWN_FAILURES = 50
"""Maximum failures in the table; the JSON report lists all of them."""


class Output:
    """Prints and counts results, as text or JSON; an `endless` batch keeps no list of its failures."""

    def __init__(self, batch: Batch, *, as_json: bool, metrics: MetricsFile | None, endless: bool) -> None:
        self._batch = batch
        self._as_json = as_json
        self._metrics = metrics
        self._endless = endless
        self._screen = Screen(stderr=True)
        self._counts: Counter[str] = Counter()
        self._failed = 0
        self._failures: list[tuple[int, SealResult]] = []
        self._begin = time.monotonic()
        self.display = Display(self._screen, hidden=as_json)

    def scanned(self, *, worked: bool = True) -> None:
        """Record a search for seals, and whether the stores answered."""
        if self._metrics is not None:
            self._metrics.scanned(worked=worked)

    def add(self, step: Step) -> None:
        """Count and print one result; text output omits seals that need no build."""
        result = step.result
        self._counts[result.outcome] += 1
        if result.exit_code and result.outcome != NOT_STARTED:
            self._failed += 1
            if not self._endless:
                self._failures.append((step.place, result))
        if self._metrics is not None:
            self._metrics.add(result)
        if self._as_json:
            _print_line(result.to_line())
        elif result.outcome != NOT_STARTED and (
            step.attempted or self._batch.searched is None or result.outcome not in SUCCESSES
        ):
            with self.display.set_aside():
                print_result(self._screen, result)

    def end(self, exit_code: int | None = None, *, interrupted: bool = False) -> int:
        """Print the counts, and return the exit code: `exit_code` if given, else the code that follows from the results.

        A batch that was `interrupted` ended before all its seals were known.
        """
        code = self._exit_code(interrupted=interrupted) if exit_code is None else exit_code
        if self._as_json:
            at = utc_text(datetime.now(UTC), "milliseconds")
            _print_line({"at": at, "summary": self._summary(), "exit_code": int(code)})
        elif not self._endless and len(self._batch.seals) != 1:
            self._print_table()
        if self._metrics is not None:
            self._metrics.ended(code)
        return code

    def _exit_code(self, *, interrupted: bool) -> int:
        """Return 0, or the code of the first failure in seal order; stored refusals count only if no other seal failed.

        A batch that ended before all seals were started counts as interrupted unless a seal failed.
        """
        self._failures.sort(key=lambda failure: failure[0])  # results arrive in any order
        new = [result for _, result in self._failures if result.exit_code != ExitCode.STILL_REFUSED]
        if new:
            return new[0].exit_code
        if self._counts[NOT_STARTED] or interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.STILL_REFUSED if self._failures else ExitCode.DONE

    def _summary(self) -> dict[str, Any]:
        return {
            "seals": sum(self._counts.values()),
            **dict(sorted(self._counts.items())),
            "failures": self._failed,
            "seconds": round(time.monotonic() - self._begin, 3),
        }

    def _print_table(self) -> None:
        """Print the counts and the failures."""
        counts = self._summary()
        columns = (Column(heading, justify="right") for heading in counts)
        table = make_table(*columns, title="Summary", title_justify="left")
        table.add_row(*(f"{value:,}" for value in counts.values()))
        console = Screen()
        console.print(table)
        if not self._failures:
            return
        headings = ("seal", "outcome", "what is wrong, and the fix")
        failures = make_table(*headings, title="Failures", title_justify="left", show_lines=True)
        for _, result in self._failures[:SHOWN_FAILURES]:
            failures.add_row(Text(result.seal), result.outcome, Text(_reason(result)))
        console.print(failures)
        if len(self._failures) > SHOWN_FAILURES:
            echo(f"… and {len(self._failures) - SHOWN_FAILURES} more; --json lists them all")


def print_result(screen: Screen, result: SealResult) -> None:
    """Print one result as text."""
    entry = result.entry
    if result.outcome not in SUCCESSES:
        seal, message = entry["seal"], entry["message"]
        echo(message if message.startswith(seal) else f"{seal}: {message}", err=True)
        if entry.get("violations") and result.outcome != STILL_REFUSED:
            print_lines(screen, violation_lines(entry["violations"]))
        return
    if entry.get("archive"):
        echo(f"{entry['alpha_id']}: {_archive_line(entry['archive'])}")
    if result.outcome == "built":
        echo(built_line(entry))
        if entry["replaced_equal"]:
            echo(
                f"  it replaced {entry['replaced_equal']}, of another seal with the same sealed_at: give different runs different "
                "alpha_ids, and a corrected run a later sealed_at"
            )
        for warning in entry["warnings"]:
            echo(f"  warning {warning['rule']}: {warning['message']}")
        for line in notice_lines(entry["notices"]):
            echo(f"  {line}")
        return
    # Only `build` of a named seal prints a success that is not `built`; a search leaves out what it skips.
    echo(f"{entry['alpha_id']}: unchanged, snapshot {entry['snapshot']} is served already")


def _archive_line(state: Mapping[str, Any]) -> str:
    if state["status"] == FAILED:
        return f"the source archive was not delivered: {state['reason']}"
    files = counted(state["files"], "file")
    return f"source archive {state['status']}: {files}, {state['size_bytes']} bytes, {state['key']}"


def built_line(entry: Mapping[str, Any]) -> str:
    """Return one line with the built snapshot and the seconds of each stage."""
    seconds = ", ".join(f"{stage} {duration:.2f} s" for stage, duration in entry["seconds"].items())
    return (
        f"{entry['alpha_id']}: published snapshot {entry['snapshot']}, {counted(entry['files'], 'file')}, "
        f"{entry['bytes'] / 1e6:.1f} MB in {sum(entry['seconds'].values()):.2f} s ({seconds})"
    )


def _print_line(line: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    sys.stdout.buffer.flush()


def _reason(result: SealResult) -> str:
    violations = result.entry.get("violations")
    if not violations:
        return str(result.error)
    heads = [text for text, _, style in violation_lines(violations) if style in {"red", "yellow"}]
    more = len(heads) - SHOWN_RULES
    return "\n".join(heads[:SHOWN_RULES] + ([f"… and {more} more rules"] if more > 0 else []))
