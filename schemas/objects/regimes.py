"""Regimes of a book, and tests for a break of its record."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, count, day, figure, fraction, number, record, series, text, withheld
from schemas.objects.bootstrap import SAMPLES, SEED, band, mean_block
from schemas.objects.summaries import WINDOW_DAYS
from schemas.units import Unit

GROUPS: Final = ("halves", "market", "volatility")
_BAND: Final = record(
    "band",
    "Band of the Sharpe ratio by the stationary bootstrap; null if some samples do not determine it.",
    *band(Unit.RATIO),
    model="SharpeBand",
    nullable=True,
)


def _break(name: str, of: str) -> Field:
    return record(
        name,
        f"OLS-based CUSUM test for a change in the mean of {of}.",
        number(
            "statistic", "standard deviations", "Largest absolute cumulative deviation from the mean, scaled."
        ),
        fraction("p_value", "p-value from the Brownian bridge."),
        day("date", "Last day before the change, if there was one."),
        count("observations", "Observations."),
        model="Break",
        nullable=True,
    )


REGIMES: Final = record(
    "regimes",
    "Whether a record is homogeneous.",
    text("book", "The book measured."),
    count("observations", "Sessions of the window."),
    *WINDOW_DAYS,
    text("benchmark", "Symbol of the benchmark that defines the market; null without one.", nullable=True),
    series(
        "groups",
        "Groupings of the sessions.",
        text(
            "name",
            "By time, by the sign of the benchmark's return, or into terciles by the volatility of its 63 returns before the session.",
            vocabulary=GROUPS,
        ),
        series(
            "regimes",
            "`first` and `second`; `down` and `up`; `low`, `middle` and `high`.",
            text("name", "Its name."),
            count("sessions", "Sessions in it."),
            figure("mean_return", "Mean daily return x 252."),
            figure("volatility", "Sample deviation x sqrt(252).", minimum=0),
            figure("sharpe", "Mean over sample deviation x sqrt(252)."),
            _BAND,
            one="One regime; figures are null for fewer than 20 sessions.",
            model="Regime",
        ),
        record(
            "difference",
            "Last regime less the first.",
            number("sharpe", Unit.RATIO, "Difference of the Sharpe ratios."),
            _BAND,
            model="RegimeDifference",
            nullable=True,
        ),
        one="One grouping.",
        model="RegimeGroup",
    ),
    record(
        "breaks",
        "Tests for a single break.",
        _break("returns", "the daily returns"),
        _break("ic", "the weekly information coefficient"),
    ),
    record(
        "bootstrap",
        "Parameters of the bootstrap.",
        SAMPLES,
        mean_block("Mean block length, in sessions."),
        SEED,
        model="RegimeBootstrap",
    ),
    withheld("Path of a null figure, or missing group, to the reason."),
    model="Regimes",
)
