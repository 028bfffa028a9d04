"""Two servers that are asked by turns, so that both meet the machine's moods.

A machine that others use too answers twice as fast in one minute as in the next: two servers measured one after the other
differ by that, whatever their code is. Requests a millisecond apart do not.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

Turn = Callable[[], float]
"""Asks once and returns the milliseconds it took; StopIteration when there is nothing left to ask."""


class Timed(Protocol):
    """A server that tells what it used."""

    def cpu(self) -> float:
        """Return the processor seconds so far."""
        ...


def compare(pair: Sequence[tuple[Timed, Turn]], seconds: float) -> dict[str, float]:
    """Ask both by turns, the one that begins changing, and divide the first's by the second's.

    Returns
    -------
    dict
        The ratio of the median ``time`` of an answer, and of the ``processor`` time of all.
    """
    before = [server.cpu() for server, _ in pair]
    spent: tuple[list[float], list[float]] = [], []
    end = time.monotonic() + seconds
    for number in itertools.count():
        try:
            for one in (0, 1) if number % 2 else (1, 0):
                spent[one].append(pair[one][1]())
        except StopIteration:
            break
        if time.monotonic() > end:
            break
    used = [server.cpu() - start for (server, _), start in zip(pair, before, strict=True)]
    now, then = map(statistics.median, spent)
    return {"time": now / then, "processor": used[0] / used[1]}


class Busy(Protocol):
    """A server that tells what it used, exactly enough for a single answer."""

    def busy(self) -> float:
        """Return the processor seconds so far."""
        ...


def rate_beside(one: tuple[Busy, Turn], other: tuple[Busy, Turn], seconds: float) -> float:
    """Ask for two things by turns, of one server or of two, and divide the first's answers a processor second by the second's.

    A server that has more to do than its core can answers that many a second; asked one at a time, most of what is waited for
    is the machine.
    """
    spent: tuple[list[float], list[float]] = [], []
    end = time.monotonic() + seconds
    for number in itertools.count():
        try:
            for which in (0, 1) if number % 2 else (1, 0):
                server, ask = (one, other)[which]
                before = server.busy()
                ask()
                spent[which].append(server.busy() - before)
        except StopIteration:
            break
        if time.monotonic() > end:
            break
    first, second = map(statistics.median, spent)
    return second / first


def medians(found: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, str, float]]:
    """Yield query, state, figure and the median of its ratios, one a pair of processes."""
    for entry in found:
        for figure in ("time", "processor"):
            ratios = [ratio[figure] for ratio in entry["pairs"]]
            yield entry["query"], entry["state"], figure, statistics.median(ratios)
