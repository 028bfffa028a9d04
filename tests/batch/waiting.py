"""Waiting for what other processes do, and finding them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 180.0


def until(ready: Callable[[], object], what: str) -> None:
    """Wait for something another process does."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.02)


def workers(pid: int) -> list[int]:
    """List the builds at work of a batch; they are started by threads, so every task is asked."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found += [int(child) for child in (task / "children").read_text().split()]
        except FileNotFoundError:
            continue
    return found
