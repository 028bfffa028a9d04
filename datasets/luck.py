"""How much of a run's record may be luck, from its files alone: the figures of `/v1/alphas/{alpha}/luck`."""

from __future__ import annotations

from typing import Any, Final

from datasets.figure_data import frames_of, read_evidence
from datasets.figures.luck import LuckQuery, measure
from datasets.figures.luck_trials import known_trials, with_deflated_sharpe
from datasets.figures.unavailable import MISSING_KIND, Unavailable
from datasets.figures.window import Window
from datasets.snapshot import Snapshot
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER

_UNCOUNTED: Final = Unavailable(
    MISSING_KIND,
    "the run sealed neither trials nor values that show a search, and the other alphas of a catalogue, which the interface "
    "counts instead, are not part of a sheet",
)


def luck(run: Snapshot, book: str, window: Window) -> dict[str, Any]:
    """Measure the luck of a book over a window.

    Returns
    -------
    dict
        The ``data`` of the interface's answer to a key that may call everything. A sheet follows from its snapshots alone: where
        the interface counts the alphas of the catalogue as trials, the deflated Sharpe ratio is withheld.

    Raises
    ------
    SnapshotCorrupt
        When a file is gone or damaged.
    """
    query = LuckQuery(book, frozenset({LEDGER.endpoint, CROSS_SECTIONS.endpoint}), window)
    figures = measure(read_evidence(frames_of(run), run, book), query)
    return with_deflated_sharpe(
        figures, known_trials(figures, None, None, described=True, readable=_UNCOUNTED)
    )
