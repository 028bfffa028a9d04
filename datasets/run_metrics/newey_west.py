"""The three Newey-West tests."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Final

from datasets.maths.equity import solvent_returns
from datasets.maths.newey_west import newey_west
from datasets.maths.series import Floats, mean_or_null
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.derivations import without_returns
from datasets.run_metrics.figures import Records
from datasets.run_metrics.sources import Sources
from datasets.run_metrics.statistics import stated_value
from datasets.run_metrics.unavailable import MISSING_KIND
from schemas.metrics.core import CORE, REPRODUCTION_TOLERANCE
from schemas.metrics.statistic import COMPUTED, DERIVED, LEDGER, Signal
from schemas.metrics.vocabulary import DAILY

Block = dict[str, Any]

_MISMATCH: Final = "ic_reproduction_mismatch"
_IC: Final = next(statistic for statistic in CORE if statistic.name == "ic")


def nwt_ic(whole: Sources, records: Records) -> Block | Unavailable:
    """Test the weekly conditioned IC of the whole run, provided its mean is the one the run sealed.

    Parameters
    ----------
    whole
        Data of the whole run, whatever the window.
    records
        The sealed records of the whole run.
    """
    sections = whole.cross_sections
    if isinstance(sections, Unavailable):
        if sections.code == MISSING_KIND:
            return Unavailable("ic_family_mismatch", sections.text, sections.kind)
        return sections
    found = stated_value(_IC, records)
    if found is None or found[1].value is None:
        return Unavailable(_MISMATCH, "the run sealed no mean IC that the rebuilt one could be compared with")
    sealed, rebuilt = found[1].value, mean_or_null(sections.ic)
    if rebuilt is None:
        return Unavailable(_MISMATCH, "no weekly IC can be measured on the cross-sections of the run")
    if abs(rebuilt - sealed) > REPRODUCTION_TOLERANCE:
        return Unavailable(
            _MISMATCH, f"the rebuilt weekly IC has a mean of {rebuilt:.9g}, but {sealed:.9g} was sealed"
        )
    return nwt_ic_computed(whole)


def nwt_ic_computed(rows: Sources) -> Block | Unavailable:
    """Test the weekly conditioned IC in the window, whatever the run sealed."""
    if isinstance(rows.cross_sections, Unavailable):
        return rows.cross_sections
    return _test(
        rows.cross_sections.ic, source=COMPUTED, source_kind=DERIVED, signal=Signal.CONDITIONED.value
    )


def nwt_ic_score_panel(rows: Sources) -> Block | Unavailable:
    """Test the weekly IC of the signal before smoothing, in the window."""
    if isinstance(rows.raw, Unavailable):
        return rows.raw
    lacking = without_returns(rows.raw.n_return_obs)
    if lacking is not None:
        return lacking
    return _test(rows.raw.ic, source=COMPUTED, source_kind=DERIVED, signal=Signal.RAW.value)


def nwt_ir(rows: Sources) -> Block | Unavailable:
    """Test the daily return of the long_short book, in the window."""
    if isinstance(rows.ledger, Unavailable):
        return rows.ledger
    returns = solvent_returns(rows.ledger.starting, rows.ledger.ending)
    if isinstance(returns, Unavailable):
        return returns
    return _test(returns, source=LEDGER.kind, frequency=DAILY)


def _test(series: Floats, **labels: str) -> Block | Unavailable:
    result = newey_west(series)
    if isinstance(result, Unavailable):
        return result
    figures = asdict(result)
    if not all(math.isfinite(figure) for figure in figures.values()):
        return Unavailable(
            "insufficient_data", "the series holds values without bounds, as of equity that vanished"
        )
    return {**figures, **labels}
