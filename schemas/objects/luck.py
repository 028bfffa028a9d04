"""What of a run's figures may be luck."""

from __future__ import annotations

from typing import Any, Final

from schemas.field import Field, array, fraction, integer, mapping, number, record, text, withheld
from schemas.objects.summaries import WINDOW_DAYS
from schemas.units import Unit

TRIALS_FROM: Final = ("request", "seal", "catalogue")
"""Where the number of trials comes from."""
DISTINCT: Final = "distinct"
CLUSTERS: Final = "clusters"
NOMINAL: Final = "nominal"
COUNTED_BY: Final = (DISTINCT, CLUSTERS, NOMINAL)
"""What counts as one trial."""
BANDED: Final[dict[str, tuple[Unit, str]]] = {
    "sharpe": (
        Unit.RATIO,
        "Mean over sample deviation of the daily returns, annualised: `information_ratio` of the metrics.",
    ),
    "excess_sharpe": (Unit.RATIO, "The same of the returns in excess of the risk-free rate."),
    "annualised_return": (
        Unit.RATIO,
        "Product of one plus each daily return, to the power of 252 over their number, less one.",
    ),
    "volatility": (Unit.RATIO, "Sample deviation of the daily returns x sqrt(252)."),
    "pnl": (Unit.EQUITY, "Last closing less first opening equity."),
    "max_drawdown": (Unit.EQUITY, "Deepest fall of equity below its running peak."),
    "max_drawdown_pct": (Unit.PERCENTAGE_POINTS, "Deepest fall as a percentage of the running peak."),
    "turnover": (Unit.RATIO, "Mean daily turnover x 252, per year."),
    "ic": (Unit.CORRELATION, "Mean weekly information coefficient of the delivered score, of any book."),
    "icir": (Unit.RATIO, "Its mean over its sample deviation x sqrt(52)."),
    "hit_rate": (Unit.RATIO, "Share of the measured weeks with a coefficient above 0."),
    "dispersion": (Unit.CORRELATION, "Sample deviation of the weekly coefficients."),
}
"""Figure with a band -> its unit and meaning; those of the metrics are computed as there, never taken as sealed."""

_NULL: Final[dict[str, Any]] = {"nullable": True}


def _band(name: str, unit: Unit, meaning: str) -> Field:
    return record(
        name,
        meaning,
        number("estimate", unit, "The figure of the window itself."),
        number("lower", unit, "Lower end of the band."),
        number("upper", unit, "Upper end of the band."),
        fraction("level", "Share of the samples inside."),
        nullable=True,
    )


def _ratios(of: str) -> tuple[Field, ...]:
    """Declare the Sharpe ratio of returns and its significance."""
    return (
        number("sharpe", Unit.RATIO, f"Mean over sample deviation {of}, annualised.", **_NULL),
        number(
            "skewness",
            Unit.NONE,
            f"Skewness {of}; adjusted Fisher-Pearson.",
            unit_text="standardised moment",
            **_NULL,
        ),
        number(
            "kurtosis",
            Unit.NONE,
            f"Kurtosis {of}, 3 of a normal distribution; adjusted.",
            unit_text="standardised moment",
            **_NULL,
        ),
        record(
            "probabilistic_sharpe",
            "Whether the Sharpe ratio is above a benchmark, skewness and kurtosis allowed for.",
            fraction("probability", "That the true Sharpe ratio exceeds the benchmark.", **_NULL),
            number("benchmark_sharpe", Unit.RATIO, "The benchmark, annualised."),
        ),
        record(
            "deflated_sharpe",
            "The same against what the best of as many trials without skill would show.",
            fraction(
                "probability",
                "That the true Sharpe ratio exceeds 0, given how many trials it was picked from.",
                **_NULL,
            ),
            number(
                "expected_maximum_sharpe",
                Unit.RATIO,
                "Highest annualised Sharpe ratio that the effective trials are expected to show without skill.",
                minimum=0,
                **_NULL,
            ),
            integer(
                "trials",
                Unit.COUNT,
                "Trials the run was picked from, itself counted, as their source has them: copies among them count.",
                minimum=1,
                **_NULL,
            ),
            text(
                "trials_from",
                "Where their number comes from: `trials` of the request; what was sealed, which is the trials themselves or else the "
                "search values of the description, every combination of which counts; or, where the run sealed no sign of a "
                "search, the alphas of the catalogue whose runs this very key "
                "may read, so that keys may differ. Null when it is not known.",
                vocabulary=TRIALS_FROM,
                **_NULL,
            ),
            integer(
                "effective_trials",
                Unit.COUNT,
                "Trials that enter the formula. Null when their number is not known, and of more sealed trials than are clustered.",
                minimum=1,
                **_NULL,
            ),
            text(
                "counted_by",
                "What counts as one of them: of sealed trials, all that are copies of one another (`distinct`) or clusters of "
                "those that are alike (`clusters`), whichever leaves more to luck over the window; else every trial (`nominal`), "
                "because the returns of the trials are not at hand.",
                vocabulary=COUNTED_BY,
                **_NULL,
            ),
            number(
                "trial_deviation",
                Unit.RATIO,
                "Standard deviation of the annualised Sharpe ratios of the effective trials: `trial_deviation` of the request, else that "
                "of the sealed trials over the window, or of the runs that were counted in the catalogue as far as the key may read "
                "their `information_ratio` (under `excess`, `excess_sharpe`): runs are weighed by their sessions, their error is set to that of a record as long as "
                "this one, and outliers are drawn in.",
                minimum=0,
                **_NULL,
            ),
            mapping(
                "passed_over",
                "What the run sealed that shows no search, `trials` or `search_values`, to the reason it was not counted.",
                text("", "The reason."),
            ),
        ),
        record(
            "minimum_track_record",
            "How long a record shows that the Sharpe ratio is above the benchmark, the returns staying as they are.",
            number("sessions", Unit.COUNT, "Sessions it takes, not rounded.", minimum=1, **_NULL),
            number("years", Unit.NONE, "The same in years of 252 sessions.", unit_text="years", **_NULL),
            fraction("confidence", "Confidence required."),
            number("benchmark_sharpe", Unit.RATIO, "The benchmark, annualised."),
        ),
    )


LUCK: Final = record(
    "luck",
    "How much of a run's figures may be luck. A figure that cannot be given is null, and `withheld` says why.",
    text("book", "The book measured."),
    integer("observations", Unit.COUNT, "Daily returns measured."),
    *WINDOW_DAYS,
    number(
        "sessions_per_year",
        Unit.COUNT,
        "Sessions of the window in a year of the ledger's own calendar; figures are annualised by 252 whatever it is. Null for "
        "fewer than 90 days.",
        **_NULL,
    ),
    *_ratios("of the daily returns"),
    record(
        "excess",
        "The same figures of the daily returns less the risk-free return of the session, by which the papers define them.",
        integer("observations", Unit.COUNT, "Daily returns measured, of sessions with a risk-free return."),
        *_ratios("of the daily returns less the risk-free return"),
    ),
    record(
        "overfitting",
        "Combinatorially symmetric cross-validation of the trials whose returns the run sealed.",
        fraction(
            "probability",
            "Share of the splits in which the trial that was best in one half of the days was at most the median in the other.",
        ),
        integer("trials", Unit.COUNT, "Trials compared.", minimum=2),
        integer("blocks", Unit.COUNT, "Blocks the days are cut into.", minimum=2),
        integer("splits", Unit.COUNT, "Ways to choose one half of the blocks.", minimum=2),
        nullable=True,
    ),
    record(
        "data_snooping",
        "p-values of the hypothesis that no sealed trial earns more than the risk-free return, by the stationary bootstrap with the "
        "samples and the mean block of the daily bands.",
        *(
            fraction(name, meaning)
            for name, meaning in (
                (
                    "reality_check",
                    "White's Reality Check: of means as they are, every trial counted as if its own were 0.",
                ),
                (
                    "spa",
                    "Hansen's test of superior predictive ability: of studentised means, without trials clearly below 0.",
                ),
                ("spa_lower", "The same without any trial below 0: a lower bound."),
                ("spa_upper", "The same with every trial: an upper bound."),
            )
        ),
        nullable=True,
    ),
    record(
        "bands",
        "Percentile bands by the stationary bootstrap. Figures are computed over the window, also where the run sealed "
        "its own.",
        *(_band(name, unit, meaning) for name, (unit, meaning) in BANDED.items()),
    ),
    record(
        "bootstrap",
        "How the samples were drawn.",
        integer("samples", Unit.COUNT, "Samples of each series.", minimum=1),
        number(
            "mean_block",
            Unit.COUNT,
            "Mean length of the blocks of the daily ledger, in sessions.",
            minimum=1,
            **_NULL,
        ),
        number(
            "mean_block_weeks",
            Unit.COUNT,
            "Mean length of the blocks of the weekly coefficients, in weeks.",
            minimum=1,
            **_NULL,
        ),
        integer(
            "seed",
            Unit.NONE,
            "Of the random numbers; it follows from snapshot, book, `from` and `to` alone.",
            unit_text="seed",
        ),
    ),
    withheld("Path of a figure that is null to the reason."),
    model="Luck",
)


LEVELS: Final = (0.01, 0.05, 0.1, 0.2)
"""Shares of false discoveries at which a catalogue is counted."""


def _length(name: str, trials: str) -> Field:
    return record(
        name,
        f"How long a record has to be for the best of {trials} without skill not to show a Sharpe ratio of 1 on average.",
        number("trials", Unit.COUNT, "Trials, rounded to whole ones.", minimum=1, **_NULL),
        number("sessions", Unit.COUNT, "Sessions.", minimum=0, **_NULL),
        number("years", Unit.NONE, "The same in years of 252 sessions.", unit_text="years", **_NULL),
        model="BacktestLength",
    )


CATALOGUE_LUCK: Final = record(
    "catalogue_luck",
    "What of the alphas that the key may read may be luck, of their long_short books over their runs.",
    integer("alphas", Unit.COUNT, "Alphas whose run the key may read."),
    integer("tested", Unit.COUNT, "Those with a `t_stat`, by which they are judged."),
    array(
        "discoveries",
        "How many of them have a mean return that differs from 0, by the share of false ones among these.",
        record(
            "",
            "One share.",
            fraction("level", "Expected share of false discoveries; under Bonferroni the chance of any."),
            integer("benjamini_hochberg", Unit.COUNT, "Alphas with a `q_value` up to it."),
            integer("benjamini_yekutieli", Unit.COUNT, "Alphas with a `q_value_by` up to it."),
            integer("bonferroni", Unit.COUNT, "Alphas whose p-value x `tested` is up to it."),
            model="Discoveries",
        ),
    ),
    number(
        "effective_number",
        Unit.COUNT,
        "Uncorrelated alphas that vary in as many directions: the squared sum of the eigenvalues of the correlation matrix of the "
        "daily returns over the sum of their squares.",
        minimum=1,
        **_NULL,
    ),
    _length("minimum_backtest_length", "as many trials as there are alphas"),
    _length("effective_backtest_length", "`effective_number` trials"),
    withheld("Member that is null to the reason."),
    model="CatalogueLuck",
)
