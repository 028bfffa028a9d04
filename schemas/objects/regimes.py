"""A book in its regimes, and whether its record broke."""

from __future__ import annotations

from typing import Any, Final

from schemas.field import Field, array, day, fraction, integer, number, record, text, withheld
from schemas.objects.summaries import WINDOW_DAYS
from schemas.units import Unit

GROUPS: Final = ("halves", "market", "volatility")
_NULL: Final[dict[str, Any]] = {"nullable": True}


def _band() -> Field:
    return record(
        "band",
        "Of the Sharpe ratio, by the stationary bootstrap; null where some samples do not determine it.",
        number("lower", Unit.RATIO, "Lower end."),
        number("upper", Unit.RATIO, "Upper end."),
        fraction("level", "Share of the samples inside."),
        model="SharpeBand",
        **_NULL,
    )


def _break(name: str, of: str) -> Field:
    return record(
        name,
        f"Whether the mean of {of} changed: the CUSUM test with OLS residuals.",
        number(
            "statistic",
            Unit.NONE,
            "Largest absolute sum of deviations so far, scaled.",
            unit_text="standard deviations",
        ),
        fraction("p_value", "Of a Brownian bridge."),
        day("date", "Last day before the mean changed, if it did."),
        integer("observations", Unit.COUNT, "Observations."),
        model="Break",
        **_NULL,
    )


REGIMES: Final = record(
    "regimes",
    "Whether a record is one throughout.",
    text("book", "The book measured."),
    integer("observations", Unit.COUNT, "Sessions of the window."),
    *WINDOW_DAYS,
    text("benchmark", "Symbol of the benchmark that makes the market; null without one.", **_NULL),
    array(
        "groups",
        "Ways to cut the sessions.",
        record(
            "",
            "One way.",
            text(
                "name",
                "By time, by the sign of the benchmark's return, or into terciles by the deviation of its 63 returns before the session.",
                vocabulary=GROUPS,
            ),
            array(
                "regimes",
                "`first` and `second`; `down` and `up`; `low`, `middle` and `high`.",
                record(
                    "",
                    "One regime; figures are null with fewer than 20 sessions.",
                    text("name", "Its name."),
                    integer("sessions", Unit.COUNT, "Sessions in it."),
                    number("mean_return", Unit.RATIO, "Mean daily return x 252.", **_NULL),
                    number("volatility", Unit.RATIO, "Sample deviation x sqrt(252).", minimum=0, **_NULL),
                    number("sharpe", Unit.RATIO, "Mean over sample deviation x sqrt(252).", **_NULL),
                    _band(),
                    model="Regime",
                ),
            ),
            record(
                "difference",
                "The last regime less the first.",
                number("sharpe", Unit.RATIO, "Of the Sharpe ratios."),
                _band(),
                model="RegimeDifference",
                **_NULL,
            ),
            model="RegimeGroup",
        ),
    ),
    record(
        "breaks",
        "Tests for one break.",
        _break("returns", "the daily returns"),
        _break("ic", "the weekly coefficients"),
    ),
    record(
        "bootstrap",
        "How the samples were drawn.",
        integer("samples", Unit.COUNT, "Samples.", minimum=1),
        number("mean_block", Unit.COUNT, "Mean length of the blocks, in sessions.", minimum=1, **_NULL),
        integer("seed", Unit.NONE, "As that of `/luck`.", unit_text="seed"),
        model="RegimeBootstrap",
    ),
    withheld("Path of a figure that is null, or group that is not there, to the reason."),
    model="Regimes",
)
