"""What of a run's record may be luck, as a tear sheet shows it: the figures of `/v1/alphas/{alpha}/luck`."""

from __future__ import annotations

from typing import Any, Final

from datasets.luck.measure import LuckQuery, measure
from datasets.luck.reading import read
from datasets.luck.trials import known_trials, with_deflated_sharpe
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.reading import frames_of
from datasets.run_metrics.unavailable import MISSING_KIND
from datasets.run_metrics.window import Window
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
    found = measure(read(frames_of(run), run, book), query)
    return with_deflated_sharpe(found, known_trials(found, None, None, described=True, readable=_UNCOUNTED))
