"""A family of research figures: computed when a run is published, stored with its snapshot and served as one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.field import Field, day, integer, record, text, withheld
from schemas.metrics.field import MetricField, number
from schemas.units import Unit


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one kind.

    Attributes
    ----------
    name
        Of the payload, of the last part of its path, of its endpoint behind ``research.`` and of its document.
    summary
        One line for the documents.
    payload
        The object served.
    needs
        Registry ids of the endpoints that serve what it is computed from: a key has to be able to call each.
    by_book
        Whether there is one object a book, rather than one a run.
    """

    name: str
    summary: str
    payload: Field
    needs: tuple[str, ...]
    by_book: bool = True

    @property
    def endpoint(self) -> str:
        """Registry id of the endpoint."""
        return f"research.{self.name}"


def figure(name: str, unit: Unit, meaning: str, formula: str, paper: str = "", **rules: Any) -> MetricField:
    """Declare a nullable figure; `paper` is the source of its formula."""
    return number(name, unit, meaning, formula, source=paper, nullable=True, **rules)


def of_the_run(name: str, meaning: str, *members: Field, model: str, by_book: bool = True) -> Field:
    """Declare the payload of a family: observations and span, its figures, and the reasons of those that are null."""
    book = (text("book", "The book measured."),) if by_book else ()
    what = "sessions" if by_book else "weeks"
    return record(
        name,
        f"{meaning} Figures describe the run, not a window. A figure that cannot be computed is null, and `withheld` has the reason.",
        *book,
        integer("observations", Unit.COUNT, f"Number of {what} measured."),
        day("first_date", f"The first of these {what}; null when there is none.", nullable=True),
        day("last_date", f"The last of these {what}; null when there is none.", nullable=True),
        *members,
        withheld("Path of a figure that is null to the reason."),
        model=model,
    )
