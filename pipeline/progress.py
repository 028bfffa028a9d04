"""Progress of commands that process seals or alphas."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from schemas.console.screen import Screen


class Display:
    """Progress on a terminal while seals are checked or built, or alphas verified, silent elsewhere; use as a context manager.

    Parameters
    ----------
    screen
        Standard error, so that standard output holds only results.
    hidden
        Whether to show nothing, because a program reads the output.
    """

    def __init__(self, screen: Screen, *, hidden: bool) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=hidden or not screen.is_terminal,
            # Results are printed within `set_aside`; redirection would catch only part of that output.
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
        """Show the stage of a seal or alpha, or its end, and the number of all of them."""
        if stage is None:
            self._at_work.pop(name, None)
            self._progress.advance(self._task)
        else:
            self._at_work[name] = stage
        at_work = list(self._at_work.items())
        description = "; ".join(f"{each.rstrip('/').rsplit('/', 1)[-1]}: {at}" for each, at in at_work)
        self._progress.update(self._task, description=description, total=total, visible=bool(at_work))

    @contextlib.contextmanager
    def set_aside(self) -> Iterator[None]:
        """Hide the progress while a result is printed, so that they do not overwrite each other."""
        if self._progress.disable:
            yield
            return
        self._progress.live.stop()
        try:
            yield
        finally:
            sys.stdout.flush()
            self._progress.live.start()
