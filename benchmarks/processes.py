"""Processor time, memory and children of processes, as the kernel counts them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

TICK: Final = os.sysconf("SC_CLK_TCK")
"""Steps a second in which :func:`cpu_seconds` counts."""


def family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    pids = [pid]
    for parent in pids:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process, in steps of the kernel's tick; 0 once it is gone."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        fields = text[text.rindex(")") + 2 :].split()
        return (int(fields[11]) + int(fields[12])) / TICK
    return 0.0


def busy_seconds(pid: int) -> float:
    """Return the CPU seconds of a process, of the threads it has, to the nanosecond."""
    # The scheduler's own count: that of /proc/<pid>/stat goes in steps of 10 ms.
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def memory_kb(pid: int, file: str, field: str) -> int:
    """Return a figure that the kernel keeps of a process's memory, such as ``VmRSS:`` of ``status``; 0 once it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1])
    return 0
