"""Turns of two servers next to each other, so that both meet the machine's moods.

A machine that others use too answers twice as fast in one minute as in the next: two servers measured one after the other
differ by that, whatever their code is. Neighbouring turns differ little, and the median over them less.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from benchmarks.load import Load

Turn = Callable[[], Load]


class Timed(Protocol):
    """A server that tells what it used."""

    def cpu(self) -> float:
        """Return the processor seconds so far."""
        ...


def compare(pair: Sequence[tuple[Timed, Turn]], turns: int) -> dict[str, list[float]]:
    """Let both take their turns, the one that begins changing, and divide the first by the second.

    Returns
    -------
    dict
        For each turn the ratio of ``rates``, answers a second, and of ``processor`` time an answer.
    """
    rates, processor = [], []
    first, second = pair
    for number in range(turns):
        if number % 2:
            now, then = _take(*first), _take(*second)
        else:
            then, now = _take(*second), _take(*first)
        rates.append(now[0] / then[0])
        processor.append(now[1] / then[1])
    return {"rates": rates, "processor": processor}


def medians(found: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, str, float]]:
    """Yield query, state, figure and the median of its ratios."""
    for entry in found:
        for figure in ("rates", "processor"):
            yield entry["query"], entry["state"], figure, statistics.median(entry[figure])


def _take(server: Timed, turn: Turn) -> tuple[float, float]:
    """Return answers a second, and processor seconds of the server for each."""
    before = server.cpu()
    load = turn()
    return load.rate, (server.cpu() - before) / load.answers
