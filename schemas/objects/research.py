"""Alphas beside one another: neighbours, correlations, and what one adds to a book of others."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, array, day, fraction, integer, mapping, number, record, text, texts
from schemas.parameters import BY
from schemas.units import Unit

MEASURES: Final = BY.choices
_BY: Final = text("by", "What was compared.", vocabulary=MEASURES)
_SNAPSHOTS: Final = mapping(
    "snapshots", "Alpha to the id of the snapshot its figures come from.", text("", "Id of a snapshot.")
)
_BOOK: Final = text("book", "The book compared; null where the comparison is of no book.", nullable=True)
_FIRST: Final = day("first_date", "First day compared; null when there is none.", nullable=True)
_LAST: Final = day("last_date", "Last day compared; null when there is none.", nullable=True)
_OBSERVATIONS: Final = integer(
    "observations", Unit.COUNT, "Sessions that both have, or weeks for `by=scores`, within the window."
)
_REASON: Final = text("", "Why it is not given.")


def _withheld(keys: str) -> Field:
    return mapping("withheld", f"{keys} to why it is null; empty when none is withheld.", _REASON)


NEIGHBOUR: Final = record(
    "neighbour",
    "One alpha and how alike it is.",
    text("alpha_id", "The alpha's address in every path."),
    text(
        "name",
        "Readable title; the address when the run sealed none, null when the key may not list the alpha.",
        nullable=True,
    ),
    number(
        "correlation",
        Unit.CORRELATION,
        "Of the daily returns, or the mean of the weekly rank correlations of the scores; with `by=holdings` `overlap` stands "
        "in its place.",
        optional=True,
        minimum=-1,
        maximum=1,
    ),
    number(
        "overlap",
        Unit.RATIO,
        "Mean over the common sessions of the sum over names held on the same side of the smaller of the two weights, each "
        "over its book's gross; only with `by=holdings`.",
        optional=True,
        minimum=0,
        maximum=1,
    ),
    _OBSERVATIONS,
    model="Neighbour",
)

EXCLUDED: Final = record(
    "excluded",
    "How many other alphas that the key may read are not compared, by reason.",
    integer(
        "not_read",
        Unit.COUNT,
        "Published so lately that they were not read yet; ask again within seconds for an answer with them.",
    ),
    integer("unreadable", Unit.COUNT, "Their published files cannot be read for now."),
    integer("no_data", Unit.COUNT, "Their runs hold no such book, or no rows of it."),
    integer("too_few", Unit.COUNT, "Fewer common observations in the window than the figure needs."),
    integer("no_variation", Unit.COUNT, "One side does not vary on the common observations."),
    model="Excluded",
)

NEIGHBOURS_META: Final = (
    _BY,
    _BOOK,
    _FIRST.called("first_date", "First day of the alpha in the window; null when there is none."),
    _LAST.called("last_date", "Last day of the alpha in the window; null when there is none."),
    integer("compared", Unit.COUNT, "Alphas compared: the rows of all pages."),
    EXCLUDED,
)

CORRELATIONS: Final = record(
    "correlations",
    "Every pair of some alphas.",
    texts("alphas", "The alphas in the order of the request, which is that of rows and columns."),
    _SNAPSHOTS,
    _BY,
    _BOOK,
    array(
        "matrix",
        "Symmetric, 1 on the diagonal.",
        array(
            "",
            "The figures of one alpha with each.",
            number(
                "",
                Unit.CORRELATION,
                "Correlation, or overlap for `by=holdings`; null where withheld.",
                nullable=True,
                minimum=-1,
                maximum=1,
            ),
        ),
    ),
    array(
        "observations",
        "Sessions that both have in the window, or weeks for `by=scores`.",
        array("", "Those of one alpha with each.", integer("", Unit.COUNT, "Common observations.")),
    ),
    _withheld("Two addresses, separated by a comma,"),
    model="Correlations",
)


def _figures(name: str, meaning: str, *, change: bool = False) -> Field:
    rules = {} if change else {"minimum": 0}
    return record(
        name,
        meaning,
        number(
            "sharpe",
            Unit.RATIO,
            "Mean / sample standard deviation (ddof 1) of the daily return x sqrt(252); no risk-free rate is taken off.",
            nullable=True,
        ),
        number(
            "annualised_return",
            Unit.RATIO,
            "Compounded return to the power of 252 / sessions, less one.",
            nullable=True,
        ),
        number(
            "volatility",
            Unit.RATIO,
            "Sample standard deviation (ddof 1) of the daily return x sqrt(252).",
            nullable=True,
            **rules,
        ),
        number(
            "max_drawdown_pct",
            Unit.PERCENTAGE_POINTS,
            "Largest fall from the peak so far, as a percentage of that peak.",
            nullable=True,
            **rules,
        ),
        model="BookChange" if change else "BookFigures",
    )


_T_STAT: Final = number(
    "t_stat",
    Unit.NONE,
    "Value over its Newey-West standard error; null without residuals to estimate one from.",
    nullable=True,
    unit_text="standard errors",
)

_REGRESSION: Final = record(
    "regression",
    "The alpha's daily return explained by those of the others, with an intercept; null when withheld.",
    number("alpha_daily", Unit.RATIO, "The intercept: mean daily return that the others do not explain."),
    number("alpha_annualised", Unit.RATIO, "The intercept x 252."),
    _T_STAT.called("t_stat", "Of the intercept: over its Newey-West standard error; null without residuals."),
    number(
        "p_value",
        Unit.RATIO,
        "Of the intercept: two-sided, from Student's t with observations - alphas - 1 degrees of freedom; null without residuals.",
        nullable=True,
        minimum=0,
        maximum=1,
    ),
    integer(
        "lags", Unit.COUNT, "Autocovariances used: floor(4 (observations / 100)^(2/9)), Bartlett weights."
    ),
    mapping(
        "betas",
        "Alpha to its coefficient.",
        record(
            "",
            "One coefficient.",
            number("beta", Unit.RATIO, "Change of the alpha's return with that of the other."),
            _T_STAT,
            model="Beta",
        ),
    ),
    fraction("r_squared", "Share of the variance that is explained."),
    nullable=True,
    model="Regression",
)

CONTRIBUTION: Final = record(
    "contribution",
    "What one alpha adds to a book of others, over the sessions that all of them have. The return of a session that "
    "another lacks is compounded into the next close that all have.",
    texts(
        "alphas",
        "The alphas of the book in the order of the request, without the alpha of the path and without repeats.",
    ),
    _SNAPSHOTS,
    text("book", "The book whose returns are combined."),
    text("weighting", "How the money is spread.", vocabulary=("equal", "volatility", "given")),
    integer(
        "seed",
        Unit.NONE,
        "Of the random numbers: it follows from snapshots, book, `from` and `to`.",
        unit_text="seed",
    ),
    integer("observations", Unit.COUNT, "Sessions that the alpha and all of the others have in the window."),
    _FIRST,
    _LAST,
    _figures("with", "The book of the alphas and this one, rebalanced to `weights` each session."),
    _figures("without", "The book of the alphas alone, their weights in the same proportions."),
    _figures("marginal", "With less without.", change=True),
    _REGRESSION,
    mapping(
        "sessions",
        "Address of each alpha to what became of its sessions; empty where no book is combined.",
        record(
            "",
            "One alpha.",
            integer("sessions", Unit.COUNT, "Sessions it has in the window."),
            integer(
                "merged",
                Unit.COUNT,
                "Those that another lacks: their return is compounded into the next common close.",
            ),
            integer(
                "dropped",
                Unit.COUNT,
                "Those before the first common session or after the last: their profit and loss is in no figure.",
            ),
        ),
    ),
    number(
        "sessions_per_year",
        Unit.COUNT,
        "Common closes in a year of their own calendar; figures are annualised by 252 whatever it is. Null for fewer than 90 days.",
        nullable=True,
    ),
    _withheld("A figure, such as `with.sharpe` or `regression`,"),
    mapping(
        "weights",
        "Address of each alpha to its part of the book with this one; they add up to 1. Empty where no book is combined.",
        fraction("", "Part of the money."),
    ),
    record(
        "marginal_sharpe",
        "Band of `marginal.sharpe` by the stationary bootstrap of the common closes, the weights staying as they are.",
        number("estimate", Unit.RATIO, "That figure."),
        number("lower", Unit.RATIO, "Lower end."),
        number("upper", Unit.RATIO, "Upper end."),
        fraction("level", "Share of the samples inside."),
        integer("samples", Unit.COUNT, "Samples.", minimum=1),
        number("mean_block", Unit.COUNT, "Mean length of the blocks, in closes.", minimum=1, nullable=True),
        nullable=True,
        model="MarginalSharpe",
    ),
    model="Contribution",
)
