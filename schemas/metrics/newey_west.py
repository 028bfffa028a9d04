"""The Newey-West tests."""

from __future__ import annotations

from typing import Any, Final

from schemas.field import Field, count, fraction, number, record, text
from schemas.metrics.core import REPRODUCTION_TOLERANCE
from schemas.metrics.statistic import (
    COMPUTED,
    CROSS_SECTIONS,
    DERIVED,
    FREQUENCIES,
    LEDGER,
    ONCE,
    SCORE_FIELD,
    WEEK_AHEAD,
    WINDOW,
    Signal,
)
from schemas.units import Unit

_FIGURES: Final = (
    number("t_stat", "standard errors", "Mean in standard errors.", "mean / standard_error"),
    fraction("p_value", "Two-sided, from Student's t with n - 1 degrees of freedom.", "2 P(T > |t_stat|)"),
    count("lag", "Autocovariances used.", formula="floor(4 (n / 100)^(2/9))"),
    count("n", "Observations.", formula="number of observations that are not null"),
    number("mean", Unit.RATIO, "Mean of the series.", "sum of the observations / n"),
    number("standard_error", Unit.RATIO, "Newey-West standard error of the mean.", "sqrt(S / n)", above=0),
)


def _test(name: str, meaning: str, *labels: Field, **traits: Any) -> Field:
    return record(name, meaning, *_FIGURES, *labels, nullable=True, **traits)


def _weekly_test(name: str, meaning: str, signal: Signal, **traits: Any) -> Field:
    """Declare the test of a weekly series that is rebuilt from the cross-sections."""
    return _test(
        name,
        meaning,
        text("source", "The series was rebuilt from the cross-sections.", vocabulary=(COMPUTED,)),
        text("source_kind", "Computed by the service.", vocabulary=(DERIVED,)),
        text("signal", "The signal that the series measures.", vocabulary=(signal,)),
        source=CROSS_SECTIONS.meaning,
        signal=signal,
        horizon=WEEK_AHEAD,
        **traits,
    )


def _ic(**traits: Any) -> Field:
    return _weekly_test(
        "ic", "Test of the mean of core.ic, on the rebuilt weekly series.", Signal.CONDITIONED, **traits
    )


_TESTS: Final[dict[str, Any]] = {
    "formula": (
        "e_t = x_t - mean, g_l = sum of e_t e_(t-l) / n, "
        "S = g_0 + 2 sum over l = 1..lag of (1 - l / (lag + 1)) g_l"
    ),
    "horizon": "one observation of the series",
    "granularity": WINDOW,
    "source": "see each test",
}

NWT_WITHIN: Final = record(
    "nwt",
    "Newey-West test of a mean against zero, robust to autocorrelation; nwt.ic_score_panel and nwt.ir follow the window themselves.",
    _ic(availability="null when the weeks of the window are too few, or closed to the key"),
    **_TESTS,
)

NWT: Final = record(
    "nwt",
    "Newey-West tests of a mean against zero, robust to autocorrelation.",
    _ic(
        granularity=ONCE,
        availability=(
            "null unless the mean of the rebuilt series is the sealed mean_ic to within "
            f"{REPRODUCTION_TOLERANCE:g} in absolute terms"
        ),
    ),
    _weekly_test(
        "ic_score_panel",
        f"Test of the weekly information coefficient of {SCORE_FIELD}; not a test of core.ic.",
        Signal.RAW,
        availability=f"null when the run recorded no {SCORE_FIELD} and does not state that it was not smoothed, or the window has "
        "too few measured weeks",
    ),
    _test(
        "ir",
        "Test of the daily return of the long_short book.",
        text("source", "The kind that the returns come from.", vocabulary=(LEDGER.kind,)),
        text("frequency", "How often the series is observed.", vocabulary=FREQUENCIES),
        source=LEDGER.meaning,
        horizon="one trading session",
        availability="null when the run sealed no ledger or the window has too few sessions",
    ),
    **_TESTS,
)
