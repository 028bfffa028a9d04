"""A family of research figures: computed when a run is published, stored with its snapshot and served as one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.field import Field, count, day, figure, record, text, withheld


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one kind.

    Attributes
    ----------
    name
        Name of the payload and the document; also the last part of the path, and of the endpoint's id after ``research.``.
    summary
        One line for the documents.
    payload
        The object served.
    needs
        Registry ids of the endpoints that serve its inputs; a key must be able to call each of them.
    by_book
        Whether there is one object for each book, rather than one for the run.
    """

    name: str
    summary: str
    payload: Field
    needs: tuple[str, ...]
    by_book: bool

    @property
    def endpoint(self) -> str:
        """Registry id of the endpoint."""
        return f"research.{self.name}"


SAMPLES: Final = 1000
"""Bootstrap samples of a series."""
PER_YEAR: Final = "per year"
"""Unit of a rate."""
ANNUALISED_RETURN: Final = figure(
    "annualised_return",
    "Compounded return, per year.",
    "product of (1 + period_return) ^ (252 / sessions) - 1",
)
VOLATILITY: Final = figure(
    "volatility", "Deviation of the daily returns, per year.", "deviation (ddof 1) x sqrt(252)"
)
SHARPE: Final = figure(
    "sharpe",
    "Mean over deviation of the daily returns, annualised; no risk-free rate is deducted.",
    "mean / deviation (ddof 1) x sqrt(252)",
    "Sharpe (1994), The Sharpe Ratio, Journal of Portfolio Management 21(1)",
)
_SHAPE: Final = (
    "Joanes and Gill (1998), Comparing Measures of Sample Skewness and Kurtosis, The Statistician 47(1)"
)
SKEWNESS: Final = figure(
    "skewness",
    "Skewness of the daily returns.",
    "adjusted Fisher-Pearson coefficient",
    _SHAPE,
    unit="standardised moment",
)
KURTOSIS: Final = figure(
    "kurtosis",
    "Kurtosis of the daily returns, 3 of a normal distribution.",
    "adjusted, plus 3",
    _SHAPE,
    unit="standardised moment",
)


def make_family(
    name: str,
    summary: str,
    *members: Field,
    model: str,
    needs: tuple[str, ...],
    by_book: bool = True,
) -> Family:
    """Declare a family, whose payload has the observations and their span before its figures, and reasons for null ones after them."""
    what = "sessions" if by_book else "weeks"
    payload = record(
        name,
        f"{summary} Figures describe the run, not a window. A figure that cannot be computed is null, with the reason in `withheld`.",
        *([text("book", "The book measured.")] if by_book else []),
        count("observations", f"Number of {what} measured."),
        day("first_date", f"The first of these {what}; null when there is none.", nullable=True),
        day("last_date", f"The last of these {what}; null when there is none.", nullable=True),
        *members,
        withheld("Path of a null figure to the reason; entries of a list are numbered from 0."),
        model=model,
    )
    return Family(name, summary, payload, needs, by_book)
