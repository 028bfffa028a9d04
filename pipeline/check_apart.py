"""Checking several seals, each of which may bring down no more than its own check.

A check runs in a process of its own that goes from seal to seal. What is raised there is answered; when the process
itself dies, of memory or of a crash of the compute engine, that seal is reported so and the next one has a new process.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from pipeline.batch.request import ending
from pipeline.internal import contained
from pipeline.rule import Violation, all_examples
from pipeline.rules.report import Report
from pipeline.seal.store import printable, without_secrets
from schemas.errors import AlphaResultsError, BuildCrashed, InternalFailure, SealRefused

REFUSED = SealRefused.exit_code


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check of one seal came to.

    Attributes
    ----------
    report
        None when the seal could not be checked.
    error, message
        The class of the error, and what it says; empty when there is a report.
    exit_code
        Of a command that checked only this.
    """

    report: Report | None
    error: str = ""
    message: str = ""
    exit_code: int = 0

    def failure(self) -> dict[str, str]:
        """Return why there is no report, as a JSON-ready mapping."""
        internal = {"failure": "internal"} if self.error == InternalFailure.__name__ else {}
        return {"error": self.error, "message": self.message, **internal}


def check_here(address: str, on_step: Callable[[str], None], *, all_rows: bool = False) -> Checked:
    """Check one seal in this process; nothing is raised for what is wrong with it.

    Parameters
    ----------
    address
        The seal.
    on_step
        Called with the name of each file or rule.
    all_rows
        Whether every broken row is wanted, rather than the first five.
    """
    from pipeline.rules import check  # noqa: PLC0415 - slow to load, and a parent of such checks needs none of it
    from pipeline.seal import Seal  # noqa: PLC0415 - as above

    try:
        with contained("the check"), all_examples() if all_rows else nullcontext():
            report = check(Seal.open(address), on_step)
    except SealRefused as refusal:
        found = tuple(
            Violation(**{**violation, "examples": tuple(violation["examples"])})
            for violation in refusal.violations
        )
        report = Report(without_secrets(address), None, violations=found)
    except AlphaResultsError as error:
        return Checked(None, type(error).__name__, printable(str(error)), error.exit_code)
    return Checked(report, exit_code=REFUSED if report.refused else 0)


Serve = Callable[[Connection], None]


class Checker:
    """Checks seals one after the other in a process that may die of any of them.

    Parameters
    ----------
    serve
        What that process does with its end of a pipe; :func:`answer`, but for tests.
    """

    def __init__(self, serve: Serve | None = None) -> None:
        self._serve = serve or answer
        self._process: Any = None
        self._pipe: Connection | None = None

    def check(self, address: str, on_step: Callable[[str], None]) -> Checked:
        """Check one seal; nothing is raised for what is wrong with it, nor for what it does to the process."""
        pipe = self._begin()
        try:
            pipe.send(address)
            while not isinstance(found := pipe.recv(), Checked):
                on_step(found)
        except (EOFError, OSError):
            how = self._end()
            error = BuildCrashed(f"the check's process {how}; nothing is known of this seal")
            return Checked(None, type(error).__name__, str(error), error.exit_code)
        return found

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _begin(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, there = context.Pipe()
            self._process = context.Process(target=self._serve, args=(there,), daemon=True)
            self._process.start()
            there.close()
        return self._pipe

    def _end(self) -> str:
        assert self._pipe is not None
        self._pipe.close()
        self._process.join()
        how = ending(self._process.exitcode)
        self._process.close()
        self._process = self._pipe = None
        return how


@contextmanager
def checker(
    seals: int, *, all_rows: bool = False
) -> Iterator[Callable[[str, Callable[[str], None]], Checked]]:
    """Give what checks so many seals: one alone can cost no other, and is checked in this process."""
    if seals == 1:
        yield partial(check_here, all_rows=all_rows)
        return
    apart = Checker(answer_all if all_rows else None)
    try:
        yield apart.check
    finally:
        apart.close()


def answer_all(pipe: Connection) -> None:
    """Check the seals a parent names, showing every broken row."""
    answer(pipe, all_rows=True)


def answer(pipe: Connection, *, all_rows: bool = False) -> None:
    """Check the seals a parent names, until it names no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends this process
    with suppress(EOFError, OSError):
        while True:
            pipe.send(check_here(pipe.recv(), pipe.send, all_rows=all_rows))
