"""A small sample of a run's returns, chosen so that all runs sample the same names and days.

Names and days are taken in the order of their digests, so two runs with a common universe sample the same ones first.
Prices are sampled as returns from the previous close, so that a different split adjustment of the level does not matter.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Self

import numpy as np
import orjson

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats

MAX_NAMES: Final = 64
"""Maximum names of a sample."""
MAX_DAYS: Final = 32
"""Maximum days of a sample."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
HOURS_APART: Final = 3
"""Hours by which two engines may date the same fills differently; an exchange's open and its close are further apart."""
_MICROSECONDS: Final = 3_600_000_000
"""Microseconds in an hour."""
_DIGITS: Final = 6
_FORMAT: Final = 1
_MULTIPLIER: Final = 2_654_435_761
"""Multiplier of Knuth's multiplicative hashing: 2**32 divided by the golden ratio."""


class ProbeDamaged(Exception):
    """The bytes are not a probe."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Returns by name and period.

    Attributes
    ----------
    names
        Symbols, ascending.
    periods
        First and last day of each, as ``2024-01-05 2024-01-12``; ascending.
    returns
        Shape (names, periods); NaN where missing.
    hours
        Hours since 1970 at which the returns of a period begin and end, shape (periods, 2), NaN where unknown; None if none is
        known.
    """

    names: tuple[str, ...]
    periods: tuple[str, ...]
    returns: Floats
    hours: Floats | None = None

    @classmethod
    def of(
        cls, names: Sequence[str], periods: Sequence[str], returns: Floats, hours: Floats | None = None
    ) -> Self:
        """Keep the names and periods that have a return, rounded, in ascending order.

        Parameters
        ----------
        names, periods
            In any order.
        returns
            Shape (names, periods); values that are not finite count as missing.
        hours
            As the attribute, in the order of `periods`.
        """
        known = np.isfinite(returns)
        rows = sorted(np.flatnonzero(known.any(axis=1)).tolist(), key=names.__getitem__)
        columns = sorted(np.flatnonzero(known.any(axis=0)).tolist(), key=periods.__getitem__)
        table = np.where(known, returns, np.nan)[np.ix_(rows, columns)].round(_DIGITS)
        return cls(
            tuple(names[row] for row in rows),
            tuple(periods[column] for column in columns),
            table,
            None if hours is None else hours[columns],
        )

    def document(self) -> dict[str, Any]:
        """Return the sample for JSON; null for no return and for an unknown hour."""
        hours = {} if self.hours is None else {"hours": self.hours.tolist()}
        return {"names": self.names, "periods": self.periods, "returns": self.returns.tolist(), **hours}

    def on(self, other: Sample) -> Floats:
        """Return the returns on the names and periods of another sample; NaN for missing ones.

        Returns between other hours, such as those of fills at the close instead of the open, are missing as well.
        """
        _, here, there = np.intersect1d(self.names, other.names, return_indices=True)
        _, when, then = np.intersect1d(self.periods, other.periods, return_indices=True)
        table = np.full(other.returns.shape, np.nan)
        table[np.ix_(there, then)] = self.returns[np.ix_(here, when)]
        if self.hours is not None and other.hours is not None:
            apart = np.abs(self.hours[when] - other.hours[then]) > HOURS_APART
            table[:, then[apart.any(axis=1)]] = np.nan
        return table


NO_SAMPLE: Final = Sample((), (), np.empty((0, 0)))


@dataclass(frozen=True, slots=True)
class Probe:
    """The samples of a run that are compared with other runs.

    Attributes
    ----------
    marks
        Returns from the close of one session to the next.
    mids
        Returns from the close before a fill to its mid.
    forward_returns
        Returns from one rebalance date to the next.
    """

    marks: Sample
    mids: Sample
    forward_returns: Sample

    def encode(self) -> bytes:
        """Return the canonical bytes, a JSON document."""
        samples = {name: getattr(self, name).document() for name in self.__slots__}
        return orjson.dumps({"format": _FORMAT, **samples}, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode a probe.

        Raises
        ------
        ProbeDamaged
            When the bytes are not a probe, or are of a later format.
        """
        try:
            document = orjson.loads(data)
            if document["format"] != _FORMAT:
                raise ProbeDamaged(f"format {document['format']} is not known")
            return cls(*(_sample(document[name]) for name in cls.__slots__))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProbeDamaged(str(error)) from error


def name_digest(name: str) -> tuple[int, str]:
    """Return the sort key of names, so that two runs with common names sample the same ones first."""
    return zlib.crc32(name.encode()), name


def period(first: int, last: int) -> str:
    """Name a period by its days, given as days since 1970."""
    return f"{date.fromordinal(_EPOCH + int(first))} {date.fromordinal(_EPOCH + int(last))}"


def usual_hour(instants: Integers) -> float:
    """Return the most common hour of some instants, in hours since 1970; NaN without instants.

    Parameters
    ----------
    instants
        Microseconds since 1970.
    """
    hours, counts = np.unique(instants // _MICROSECONDS, return_counts=True)
    return float(hours[counts.argmax()]) if hours.size else np.nan


def days_by_digest(days: Integers) -> Integers:
    """Return the order of days by their digests.

    Parameters
    ----------
    days
        Distinct days since 1970.

    Returns
    -------
    Integers
        Indices of the days in a pseudo-random order that does not depend on which other days are present.
    """
    return np.argsort(days.astype(np.int64) * _MULTIPLIER % 2**32, kind="stable")


def _sample(stored: Mapping[str, Any]) -> Sample:
    names, periods = tuple(map(str, stored["names"])), tuple(map(str, stored["periods"]))
    returns = np.array(stored["returns"], np.float64).reshape(len(names), len(periods))
    hours = stored.get("hours")
    if hours is not None:
        hours = np.array(hours, np.float64).reshape(len(periods), 2)
    return Sample(names, periods, returns, hours)
