"""Comparisons of alphas: neighbours, correlations, and the contribution of one to a book of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import (
    Field,
    array,
    count,
    day,
    figure,
    fraction,
    mapping,
    number,
    record,
    text,
    texts,
    withheld,
)
from schemas.metrics.families.family import ANNUALISED_RETURN, SHARPE, VOLATILITY
from schemas.objects.bootstrap import SAMPLES, SEED, band, mean_block
from schemas.objects.exposures import regression
from schemas.objects.summaries import MAX_DRAWDOWN_PCT
from schemas.parameters import BY, NAMED_WEIGHTS
from schemas.units import Unit

MEASURES: Final = BY.choices
_BY: Final = text("by", "What was compared.", vocabulary=MEASURES)
_SNAPSHOTS: Final = mapping("snapshots", "Alpha to the id of the snapshot read.", text("", "The id."))
_BOOK: Final = text("book", "Book compared; null if no book is compared.", nullable=True)
_FIRST: Final = day("first_date", "First day compared; null without one.", nullable=True)
_LAST: Final = day("last_date", "Last day compared; null without one.", nullable=True)
_OBSERVATIONS: Final = count("observations", "Common sessions in the window, or weeks for `by=scores`.")

NEIGHBOUR: Final = record(
    "neighbour",
    "One alpha and its similarity.",
    text("alpha_id", "Address of the alpha in every path."),
    text(
        "name",
        "Readable title; the address if the run sealed none, null if the key may not list the alpha.",
        nullable=True,
    ),
    number(
        "correlation",
        Unit.CORRELATION,
        "Correlation of the daily returns, or mean weekly correlation of the alphas' ranks of the names that both score; for "
        "`by=holdings` see `overlap`.",
        optional=True,
        minimum=-1,
        maximum=1,
    ),
    number(
        "overlap",
        Unit.RATIO,
        "Mean over the common sessions of the sum, over names held on the same side, of the smaller of the two weights, each relative to "
        "its book's gross exposure; only with `by=holdings`.",
        optional=True,
        minimum=0,
        maximum=1,
    ),
    _OBSERVATIONS,
    model="Neighbour",
)

EXCLUDED: Final = record(
    "excluded",
    "Number of other alphas that the key may read but that are not compared, by reason.",
    count("not_read", "Published so recently that they have not been read yet; retry in a few seconds."),
    count("unreadable", "Their published files cannot be read at present."),
    count("no_data", "Their runs have no such book, or no rows of it."),
    count("too_few", "Too few common observations in the window."),
    count("no_variation", "One of the two is constant on the common observations."),
    model="Excluded",
)

NEIGHBOURS_META: Final = (
    _BY,
    _BOOK,
    replace(_FIRST, meaning="First day of the alpha in the window; null without one."),
    replace(_LAST, meaning="Last day of the alpha in the window; null without one."),
    count("compared", "Alphas compared: the rows of all pages."),
    EXCLUDED,
)

CORRELATIONS: Final = record(
    "correlations",
    "Similarity of each pair of the given alphas.",
    texts("alphas", "Alphas in the order of the request, which is that of rows and columns."),
    _SNAPSHOTS,
    _BY,
    _BOOK,
    array(
        "matrix",
        "Symmetric, 1 on the diagonal.",
        array(
            "",
            "Figures of one alpha with each.",
            figure(
                "",
                "Correlation, or overlap for `by=holdings`; null if withheld.",
                unit=Unit.CORRELATION,
                minimum=-1,
                maximum=1,
            ),
        ),
    ),
    array(
        "observations",
        _OBSERVATIONS.meaning,
        array("", "Observations of one alpha with each.", count("", "Common observations.")),
    ),
    withheld("Two addresses, separated by a comma, to the reason why their figure is null."),
    model="Correlations",
)


def _figures(name: str, meaning: str, *, change: bool = False) -> Field:
    minimum = None if change else 0
    return record(
        name,
        meaning,
        SHARPE,
        ANNUALISED_RETURN,
        replace(VOLATILITY, minimum=minimum),
        replace(MAX_DRAWDOWN_PCT, minimum=minimum),
        model="BookChange" if change else "BookFigures",
    )


CONTRIBUTION: Final = record(
    "contribution",
    "Contribution of one alpha to a book of others over their common sessions. The return of a session that another alpha lacks is "
    "compounded into the next common close.",
    texts("alphas", "Alphas of the book as requested, without repeats or the alpha of the path."),
    _SNAPSHOTS,
    text("book", "Book whose returns are combined."),
    text("weighting", "Weighting of the alphas.", vocabulary=(*NAMED_WEIGHTS, "given")),
    SEED,
    count("observations", "Sessions in the window that all alphas have."),
    _FIRST,
    _LAST,
    _figures("with", "Book of the alphas including this one, rebalanced to `weights` each session."),
    _figures("without", "Book of the alphas without this one, their weights in the same proportions."),
    _figures("marginal", "`with` less `without`.", change=True),
    regression("Regression of the alpha's daily return on those of the others, with an intercept.", "others"),
    mapping(
        "sessions",
        "Address of each alpha to its sessions; empty if no book is combined.",
        record(
            "",
            "One alpha.",
            count("sessions", "Sessions of the alpha in the window."),
            count("merged", "Sessions that another alpha lacks, compounded into the next common close."),
            count("dropped", "Sessions outside the common span; their profit and loss is in no figure."),
        ),
    ),
    figure(
        "sessions_per_year",
        "Common closes a year in their own calendar; figures are annualised by 252 regardless. Null for fewer than 90 days.",
        unit=Unit.COUNT,
    ),
    withheld("Path of a null figure, such as `with.sharpe` or `regression`, to the reason."),
    mapping(
        "weights",
        "Address of each alpha to its weight in the book with this one; they add up to 1. Empty if no book is combined.",
        fraction("", "Weight."),
    ),
    record(
        "marginal_sharpe",
        "Band of `marginal.sharpe` by the stationary bootstrap of the common closes, with fixed weights.",
        number("estimate", Unit.RATIO, "`marginal.sharpe`."),
        *band(Unit.RATIO),
        SAMPLES,
        mean_block("Mean block length, in closes."),
        nullable=True,
        model="MarginalSharpe",
    ),
    model="Contribution",
)
