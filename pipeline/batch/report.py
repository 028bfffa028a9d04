"""Output of a batch: one line per build, as text or JSON, and a summary."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Self

import orjson
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from datasets.archives import ArchiveState
from pipeline.archive.package import describe_archive
from pipeline.batch.result import NOT_STARTED, SUCCESSES, SealResult, stamp
from pipeline.progress import set_aside
from pipeline.rules.layout import Lines, notice_lines, violation_lines
from schemas.exit_codes import ExitCode
from schemas.screen import Screen, make_table
from schemas.terminal import echo

SHOWN_RULES = 5
"""Maximum broken rules per seal in the table; the lines above it have all of them."""
SHOWN_FAILURES = 50
"""Maximum failures in the table; the JSON report has all of them."""


class Rate(ProgressColumn):
    """Builds per minute."""

    def render(self, task: Task) -> Text:
        """Return the rate as text; empty before the first build ends."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed * 60:.1f}/min" if speed else "", style="cyan")


class Display:
    """Progress on a terminal while seals are built, silent elsewhere; use as a context manager.

    Parameters
    ----------
    screen
        Where it is shown.
    hidden
        Do not show it, as when a program reads the output.
    """

    def __init__(self, screen: Screen, *, hidden: bool) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            Rate(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=hidden or not screen.is_terminal,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", total=None, visible=False)
        self._at_work: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def stage(self, name: str, stage: str | None, total: int) -> None:
        """Show the stage of a build, or its end, and the number of builds."""
        if stage is None:
            self._at_work.pop(name, None)
            self._progress.advance(self._task)
        else:
            self._at_work[name] = stage
        at_work = list(self._at_work.items())
        description = "; ".join(f"{each.rstrip('/').rsplit('/', 1)[-1]}: {at}" for each, at in at_work)
        self._progress.update(self._task, description=description, total=total, visible=bool(at_work))

    def set_aside(self) -> AbstractContextManager[None]:
        """Hide the progress while a result is printed."""
        return set_aside(self._progress)


class Tally:
    """Running totals of a batch: counts, failures, and the exit code of the first failure.

    Parameters
    ----------
    endless
        Whether it has no end, so that no list is made of its failures.
    """

    def __init__(self, *, endless: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[tuple[int, SealResult]] = []
        self._failed = 0
        self._endless = endless
        self._begin = time.monotonic()

    def add(self, place: int, result: SealResult) -> None:
        """Count one result; `place` orders failures, in any order of arrival."""
        self.counts[result.outcome] += 1
        if result.exit_code and result.outcome != NOT_STARTED:
            self._failed += 1
            if not self._endless:
                self.failures.append((place, result))

    @property
    def exit_code(self) -> int:
        """0, or that of the first failure in the order of the seals; earlier refusals count when no other seal failed.

        A batch that ended before all seals were started counts as interrupted unless a seal failed.
        """
        new = [failure for failure in self.failures if failure[1].exit_code != ExitCode.STILL_REFUSED]
        first = min(new, key=lambda failure: failure[0], default=None)
        if first is not None:
            return first[1].exit_code
        if self.counts[NOT_STARTED]:
            return ExitCode.INTERRUPTED
        return ExitCode.STILL_REFUSED if self.failures else ExitCode.DONE

    def summary(self) -> dict[str, Any]:
        """Return the counts for a report."""
        return {
            "seals": sum(self.counts.values()),
            **dict(sorted(self.counts.items())),
            "failures": self._failed,
            "seconds": round(time.monotonic() - self._begin, 3),
        }

    def print_table(self) -> None:
        """Print the counts and the failures."""
        counts = self.summary()
        columns = (Column(heading, justify="right") for heading in counts)
        table = make_table(*columns, title="Summary", title_justify="left")
        table.add_row(*(f"{value:,}" for value in counts.values()))
        console = Screen()
        console.print(table)
        if not self.failures:
            return
        failures = make_table(
            "seal",
            "outcome",
            "what is wrong, and the fix",
            title="Failures",
            title_justify="left",
            show_lines=True,
        )
        for _, result in sorted(self.failures, key=lambda failure: failure[0])[:SHOWN_FAILURES]:
            failures.add_row(Text(result.seal), result.outcome, Text(_reason(result.entry)))
        console.print(failures)
        if len(self.failures) > SHOWN_FAILURES:
            echo(f"… and {len(self.failures) - SHOWN_FAILURES} more; --json lists them all")


def print_result(screen: Screen, result: SealResult) -> None:
    """Print one result as text."""
    entry = result.entry
    if result.outcome not in SUCCESSES:
        seal, message = entry["seal"], entry["message"]
        echo(message if message.startswith(seal) else f"{seal}: {message}", err=True)
        if entry.get("violations") and result.outcome != "still refused":
            screen.print(Lines(violation_lines(entry["violations"])), soft_wrap=True)
        return
    if entry.get("archive"):
        state = ArchiveState(**{**entry["archive"], "exclude": tuple(entry["archive"]["exclude"])})
        echo(f"{entry['alpha_id']}: {describe_archive(state)['message']}")
    if result.outcome == "built":
        echo(built_line(entry))
        for warning in entry["warnings"]:
            echo(f"  warning {warning['rule']}: {warning['message']}")
        for line in notice_lines(entry["notices"]):
            echo(f"  {line}")
        return
    sentences = {
        "unchanged": f"unchanged, snapshot {entry['snapshot']} is served already",
        "superseded": f"superseded, a later seal than {entry['seal']} is served or due",
        "rolled back": f"skipped, it was rolled back and {entry['snapshot']} is served; --force serves it again",
        "withdrawn": f"skipped, the alpha is withdrawn; `alpha-results restore {entry['alpha_id']}` takes that back",
    }
    echo(f"{entry['alpha_id']}: {sentences[result.outcome]}")


def built_line(entry: Mapping[str, Any]) -> str:
    """Return one line with the built snapshot and the seconds of each stage."""
    seconds = ", ".join(f"{stage} {spent:.2f} s" for stage, spent in entry["seconds"].items())
    return (
        f"{entry['alpha_id']}: published snapshot {entry['snapshot']}, {entry['files']} files, "
        f"{entry['bytes'] / 1e6:.1f} MB in {sum(entry['seconds'].values()):.2f} s ({seconds})"
    )


def print_line(result: SealResult) -> None:
    """Print what became of a seal as a line of JSON, once it is known."""
    _print(result.to_line())


def print_summary(tally: Tally, exit_code: int) -> None:
    """Print the last line for programs: the counts, and what the command exits with."""
    _print({"at": stamp(datetime.now(UTC)), "summary": tally.summary(), "exit_code": int(exit_code)})


def _print(line: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    sys.stdout.buffer.flush()


def _reason(entry: Mapping[str, Any]) -> str:
    if entry.get("violations"):
        heads = [
            text for text, _, style in violation_lines(entry["violations"]) if style in {"red", "yellow"}
        ]
        more = len(heads) - SHOWN_RULES
        return "\n".join(heads[:SHOWN_RULES] + ([f"… and {more} more rules"] if more > 0 else []))
    if entry.get("message"):
        return str(entry["message"])
    archive = entry.get("archive") or {}
    return f"published, but its source archive was not delivered: {archive.get('reason')}"
