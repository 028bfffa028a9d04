"""How much of a run's record may be luck."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import Field, count, figure, fraction, mapping, number, record, series, text, withheld
from schemas.metrics.families.family import ANNUALISED_RETURN, KURTOSIS, SHARPE, SKEWNESS, VOLATILITY
from schemas.objects.bootstrap import SAMPLES, SEED, band, mean_block
from schemas.objects.summaries import WINDOW_DAYS
from schemas.units import Unit

TRIALS_FROM: Final = ("request", "seal", "catalogue")
"""Where the number of trials comes from."""
DISTINCT: Final = "distinct"
CLUSTERS: Final = "clusters"
NOMINAL: Final = "nominal"
COUNTED_BY: Final = (DISTINCT, CLUSTERS, NOMINAL)
"""How trials are counted."""
BANDED: Final[dict[str, tuple[Unit, str]]] = {
    "sharpe": (
        Unit.RATIO,
        "Mean over sample deviation of the daily returns, annualised: `information_ratio` of the metrics.",
    ),
    "excess_sharpe": (Unit.RATIO, "Sharpe ratio of the daily returns in excess of the risk-free rate."),
    "annualised_return": (Unit.RATIO, ANNUALISED_RETURN.meaning),
    "volatility": (Unit.RATIO, VOLATILITY.meaning),
    "pnl": (Unit.EQUITY, "Last closing less first opening equity."),
    "max_drawdown": (Unit.EQUITY, "Deepest fall of equity below its running peak."),
    "max_drawdown_pct": (Unit.PERCENTAGE_POINTS, "Deepest fall as a percentage of the running peak."),
    "turnover": (Unit.RATIO, "Mean daily turnover x 252, per year."),
    "ic": (Unit.CORRELATION, "Mean weekly information coefficient of the delivered score, for any book."),
    "icir": (Unit.RATIO, "Mean over sample deviation of the weekly information coefficient, x sqrt(52)."),
    "hit_rate": (Unit.RATIO, "Share of the measured weeks with an information coefficient above 0."),
    "dispersion": (Unit.CORRELATION, "Sample deviation of the weekly information coefficient."),
}
"""Figure with a band -> its unit and meaning; those of the metrics are always computed, never taken as sealed."""


def _band(name: str, unit: Unit, meaning: str) -> Field:
    return record(name, meaning, number("estimate", unit, "The window's figure."), *band(unit), nullable=True)


def _ratios(of: str) -> tuple[Field, ...]:
    """Declare the Sharpe ratio of returns and its significance."""
    return (
        replace(SHARPE, meaning=f"Mean over sample deviation {of}, annualised."),
        replace(SKEWNESS, meaning=f"Skewness {of}; adjusted Fisher-Pearson."),
        replace(KURTOSIS, meaning=f"Kurtosis {of}, 3 of a normal distribution; adjusted."),
        record(
            "probabilistic_sharpe",
            "Significance of the Sharpe ratio against a benchmark, adjusted for skewness and kurtosis.",
            fraction("probability", "Probability that the true ratio exceeds the benchmark.", nullable=True),
            number("benchmark_sharpe", Unit.RATIO, "The benchmark, annualised."),
        ),
        record(
            "deflated_sharpe",
            "Significance of the Sharpe ratio against the best of as many trials without skill.",
            fraction(
                "probability",
                "Probability that the true Sharpe ratio exceeds 0, given the number of trials it was selected from.",
                nullable=True,
            ),
            figure(
                "expected_maximum_sharpe",
                "Expected maximum of the annualised Sharpe ratios of the effective trials without skill.",
                minimum=0,
            ),
            count(
                "trials",
                "Trials that the run was selected from, itself included; copies count.",
                minimum=1,
                nullable=True,
            ),
            text(
                "trials_from",
                "Source of that number: `trials` of the request; the seal, with its trials or else all combinations of the search values in "
                "its description; or, if the seal shows no search, the alphas of the catalogue whose runs the key may read, so that "
                "it may differ between keys. Null if unknown.",
                vocabulary=TRIALS_FROM,
                nullable=True,
            ),
            count(
                "effective_trials",
                "Number of trials in the formula. Null if unknown, or if more trials were sealed than are clustered.",
                minimum=1,
                nullable=True,
            ),
            text(
                "counted_by",
                "How they are counted: sealed trials without copies (`distinct`) or as clusters of similar ones (`clusters`), whichever "
                "gives the higher expected maximum over the window; all trials (`nominal`) if their returns are not available.",
                vocabulary=COUNTED_BY,
                nullable=True,
            ),
            figure(
                "trial_deviation",
                "Standard deviation of the annualised Sharpe ratios of the effective trials: `trial_deviation` of the request, otherwise "
                "that of the sealed trials over the window, or of the counted runs of the catalogue whose `information_ratio` (under "
                "`excess`: `excess_sharpe`) the key may read. Runs are weighted by sessions, their errors scaled to the length of this "
                "record, and outliers winsorised.",
                minimum=0,
            ),
            mapping(
                "passed_over",
                "`trials` or `search_values` that the run sealed but that show no search, to the reason.",
                text("", "The reason."),
            ),
        ),
        record(
            "minimum_track_record",
            "Length of a record with the same returns at which the Sharpe ratio is significantly above the benchmark.",
            figure("sessions", "Sessions, not rounded.", unit=Unit.COUNT, minimum=1),
            figure("years", "In years of 252 sessions.", unit="years"),
            fraction("confidence", "Confidence required."),
            number("benchmark_sharpe", Unit.RATIO, "The benchmark, annualised."),
        ),
    )


LUCK: Final = record(
    "luck",
    "How much of a run's record may be luck. A figure that cannot be computed is null, with the reason in `withheld`.",
    text("book", "The book measured."),
    count("observations", "Daily returns measured."),
    *WINDOW_DAYS,
    figure(
        "sessions_per_year",
        "Sessions a year of the window in the ledger's own calendar; figures are annualised by 252 regardless. Null for fewer than 90 "
        "days.",
        unit=Unit.COUNT,
    ),
    *_ratios("of the daily returns"),
    record(
        "excess",
        "The same figures for the daily returns less the risk-free return of the session, as in the papers.",
        count("observations", "Daily returns measured, of sessions with a risk-free return."),
        *_ratios("of the daily returns less the risk-free return"),
    ),
    record(
        "overfitting",
        "Combinatorially symmetric cross-validation of the trials whose returns the run sealed.",
        fraction(
            "probability",
            "Share of the splits in which the best trial in one half of the days was at or below the median in the other half.",
        ),
        count("trials", "Trials compared.", minimum=2),
        count("blocks", "Blocks of days.", minimum=2),
        count("splits", "Ways to choose half of the blocks.", minimum=2),
        nullable=True,
    ),
    record(
        "data_snooping",
        "p-values of the hypothesis that no sealed trial beats the risk-free return, by the stationary bootstrap with the samples and "
        "mean block length of the daily bands.",
        fraction("reality_check", "White's Reality Check: on means, with every trial recentred to 0."),
        fraction(
            "spa",
            "Hansen's test of superior predictive ability: on studentised means, without trials significantly below 0.",
        ),
        fraction("spa_lower", "Hansen's test without any trial below 0: a lower bound."),
        fraction("spa_upper", "Hansen's test with every trial: an upper bound."),
        nullable=True,
    ),
    record(
        "bands",
        "Percentile bands by the stationary bootstrap. Figures are always computed over the window, even if the run sealed them.",
        *(_band(name, unit, meaning) for name, (unit, meaning) in BANDED.items()),
    ),
    record(
        "bootstrap",
        "Parameters of the bootstrap.",
        SAMPLES,
        mean_block("Mean block length for daily series, in sessions."),
        mean_block("Mean block length for weekly series, in weeks.", "mean_block_weeks"),
        SEED,
    ),
    withheld("Path of a null figure to the reason."),
    model="Luck",
)


LEVELS: Final = (0.01, 0.05, 0.1, 0.2)
"""Expected shares of false discoveries at which discoveries are counted."""


def _length(name: str, trials: str) -> Field:
    return record(
        name,
        f"Shortest record for which the expected maximum Sharpe ratio of {trials} without skill is at most 1.",
        figure("trials", "Number of trials, rounded.", unit=Unit.COUNT, minimum=1),
        figure("sessions", "Sessions.", unit=Unit.COUNT, minimum=0),
        figure("years", "In years of 252 sessions.", unit="years"),
        model="BacktestLength",
    )


CATALOGUE_LUCK: Final = record(
    "catalogue_luck",
    "How many of the alphas that the key may read may be luck, by their long_short books over their runs.",
    count("alphas", "Alphas whose run the key may read."),
    count("tested", "Alphas with a `t_stat`, which are tested."),
    series(
        "discoveries",
        "Number of alphas whose mean return differs from 0, by level of false discoveries.",
        fraction("level", "Expected share of false discoveries; for Bonferroni the probability of any."),
        count("benjamini_hochberg", "Alphas with a `q_value` up to it."),
        count("benjamini_yekutieli", "Alphas with a `q_value_by` up to it."),
        count("bonferroni", "Alphas whose p-value x `tested` is up to it."),
        one="One level.",
        model="Discoveries",
    ),
    figure(
        "effective_number",
        "Effective number of uncorrelated alphas: the squared sum of the eigenvalues of the correlation matrix of the daily returns over "
        "the sum of their squares.",
        unit=Unit.COUNT,
        minimum=1,
    ),
    _length("minimum_backtest_length", "as many trials as there are alphas"),
    _length("effective_backtest_length", "`effective_number` trials"),
    withheld("Null member to the reason."),
    model="CatalogueLuck",
)
