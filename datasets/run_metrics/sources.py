"""The data an answer may be computed from: what the run holds and the key may see, cut to a window."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Final, TypeVar

from datasets.maths.deciles import WeeklyDeciles
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.figures import CrossSections, Index, Ledger, RawSignal, RunFigures, cut_deciles
from datasets.run_metrics.unavailable import ACCESS_LIMITED, MISSING_KIND
from datasets.run_metrics.window import WHOLE_RUN, Window
from schemas.metrics.statistic import CROSS_SECTIONS, INDEX, LEDGER, Source

Part = TypeVar("Part")
Dated = TypeVar("Dated", Index, CrossSections, Ledger)

NO_RAW_SIGNAL: Final = Unavailable(MISSING_KIND, "the run recorded no signal before smoothing", "decisions")


class Sources:
    """Each part of a run inside a window, or the reason why it cannot be read.

    A part is cut when it is first asked for: of a month whose statistics are all sealed, nothing is.

    Parameters
    ----------
    run
        What the run holds.
    may_call
        Registry ids of the endpoints the key may call. A part is closed to a key that may not call the endpoint
        serving it, whether or not the run holds it.
    window
        Days to keep.
    """

    def __init__(self, run: RunFigures, may_call: Collection[str], window: Window = WHOLE_RUN) -> None:
        self._run = run
        self._may_call = may_call
        self._window = window

    def within(self, window: Window) -> Sources:
        """Keep the rows of another window as well; the same object when that one is open at both ends."""
        if window.whole:
            return self
        return Sources(self._run, self._may_call, self._window.within(window))

    @cached_property
    def index(self) -> Index | Unavailable:
        """The rebalance dates."""
        return self._cut(self._opened(self._run.index, INDEX))

    @cached_property
    def cross_sections(self) -> CrossSections | Unavailable:
        """The weekly figures."""
        return self._cut(self._opened(self._run.cross_sections, CROSS_SECTIONS))

    @cached_property
    def raw(self) -> RawSignal | Unavailable:
        """The weekly figures of the signal before smoothing."""
        sections = self.cross_sections
        if isinstance(sections, Unavailable):
            return sections
        return NO_RAW_SIGNAL if sections.raw is None else sections.raw

    @cached_property
    def deciles(self) -> WeeklyDeciles | Unavailable:
        """The weekly buckets."""
        if isinstance(self.raw, Unavailable):
            return self.raw
        deciles = self._opened(self._run.deciles, CROSS_SECTIONS)
        if isinstance(deciles, Unavailable) or self._window.whole:
            return deciles
        return cut_deciles(deciles, self._window)

    @cached_property
    def ledger(self) -> Ledger | Unavailable:
        """The sessions."""
        return self._cut(self._opened(self._run.ledger, LEDGER))

    def _opened(self, part: Part | Unavailable | None, source: Source) -> Part | Unavailable:
        if source.endpoint not in self._may_call:
            return Unavailable(ACCESS_LIMITED, f"the key may not call {source.endpoint}", source.kind)
        if isinstance(part, Unavailable):
            return part
        if part is None:
            kind = next((kind for kind in source.needs if kind not in self._run.kinds), source.kind)
            return Unavailable(MISSING_KIND, f"the run holds no {kind} for {source.meaning}", kind)
        return part

    def _cut(self, part: Dated | Unavailable) -> Dated | Unavailable:
        return part if isinstance(part, Unavailable) or self._window.whole else part.within(self._window)
