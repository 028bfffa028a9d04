"""How a command that goes through seals one by one shows where it is."""

from __future__ import annotations

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from schemas.screen import Screen


def seal_progress(screen: Screen, *, as_json: bool) -> Progress:
    """Return a line that tells what is done and for how long; nothing off a terminal, or when JSON is asked for.

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
    )
