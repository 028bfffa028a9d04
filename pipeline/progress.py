"""Progress line of commands that process seals one by one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from schemas.screen import Screen


def seal_progress(screen: Screen, *, as_json: bool) -> Progress:
    """Return a progress line with the elapsed time; hidden without a terminal and with JSON output.

    Parameters
    ----------
    screen
        Standard error: what is printed for programs stays clean of it.
    as_json
        Whether the command prints for a program.
    """
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=as_json or not screen.is_terminal,
        # Results are printed on standard output with `set_aside`, which these options would only partly catch.
        redirect_stdout=False,
        redirect_stderr=False,
    )


@contextlib.contextmanager
def set_aside(progress: Progress) -> Iterator[None]:
    """Hide the progress while a result is printed, so that they do not overwrite each other."""
    if progress.disable or not progress.live.is_started:
        yield
        return
    progress.live.stop()
    try:
        yield
    finally:
        sys.stdout.flush()
        progress.live.start()
