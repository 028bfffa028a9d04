"""Digests of every week of a run, to check later seals of the alpha for restatements.

Values are rounded to :data:`SIGNIFICANT_BITS` binary digits, one part in a million, before they are digested: an engine
that runs again on another processor may differ in the last bits of a double, which is not a restatement. The rounding uses
exact operations on doubles and the byte layout is defined here, so digests do not depend on library versions. Only columns
and books that every reader of the dataset may see are digested: no raw scores and no raw books.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from datasets.figures.series import Floats
from datasets.provenance.sealed_weeks import SealedWeek
from pipeline.maths.weeks import week_sizes
from schemas.tables.books import is_raw_book

if TYPE_CHECKING:
    from hashlib import _Hash

SIGNIFICANT_BITS: Final = 20
"""Binary digits of a value that are digested; changes below one part in a million are ignored."""
_HALF: Final = np.uint64(1) << np.uint64(np.finfo(np.float64).nmant - SIGNIFICANT_BITS)
"""Half a unit in the last kept digit."""
_KEPT: Final = ~(_HALF * np.uint64(2) - np.uint64(1))
_NAN: Final = np.array(np.nan).view(np.uint64)
_DIGITS: Final = 16
"""Hexadecimal digits of a digest: 64 bits, enough to make collisions unlikely."""
_DECIDED: Final = (("score",), ("long_short_target_weight", "long_only_target_weight"), ("forward_return",))
"""Columns of the decisions by digest, in the order of :class:`~datasets.provenance.sealed_weeks.SealedWeek`."""
_FILL: Final = ("quantity", "mid_price", "fill_price", "fee")

Words = np.ndarray[tuple[int], np.dtype[np.uint32]]
"""The upper half of each rounded double, the least significant byte first; the lower half is 0."""


def rounded(values: Floats) -> Floats:
    """Round to :data:`SIGNIFICANT_BITS` binary digits, half away from zero.

    Parameters
    ----------
    values : Floats, shape (n_values,)
        May contain NaN and infinities, which are kept. Subnormal numbers keep fewer digits.

    Returns
    -------
    Floats, shape (n_values,)
        Zeros have no sign, and all NaN have the same bits.

    Examples
    --------
    >>> rounded(np.array([0.1, 3.0, -0.0]))
    array([0.10000002, 3.        , 0.        ])
    """
    words = (values + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    words += _HALF
    words &= _KEPT
    values = words.view(np.float64)
    values += 0.0  # a negative subnormal number rounds to -0.0
    words[np.isnan(values)] = _NAN
    return values


def digest_decisions(decisions: pl.DataFrame) -> dict[date, SealedWeek]:
    """Digest every week's scores, targets and forward returns.

    Parameters
    ----------
    decisions : polars.DataFrame
        Published cross-sections by date and symbol.

    Returns
    -------
    dict of datetime.date to SealedWeek
        Week -> its digests, without that of the fills, and without IC.
    """
    if decisions.is_empty():
        return {}
    names = _names(decisions, "date")
    columns = [
        [_words(decisions[name]) for name in digested if name in decisions.columns] for digested in _DECIDED
    ]
    weeks = {}
    for week, start, stop in _runs(decisions["date"]):
        name_hash = _hasher(names[week])
        scores, targets, returns = (
            _digest(name_hash, [words[start:stop] for words in digested]) for digested in columns
        )
        weeks[week] = SealedWeek(scores, targets, returns, None, None)
    return weeks


def seal_weeks(
    rebalances: pl.DataFrame,
    decisions: Mapping[date, SealedWeek],
    fills: FillDigests | None,
    weekly_signal: pl.DataFrame | None,
) -> dict[str, SealedWeek]:
    """Return the digests and the IC of every week of a run.

    Parameters
    ----------
    rebalances : polars.DataFrame
        The index: ``date``, ``week_status``. The status is digested with the targets of the week.
    decisions : Mapping[datetime.date, SealedWeek]
        Result of :func:`digest_decisions`.
    fills : FillDigests or None
        Digests of the fills; None when the run sealed none.
    weekly_signal : polars.DataFrame or None
        ``date`` and ``ic``; None when the run sealed no cross-sections.

    Returns
    -------
    dict of str to SealedWeek
        Week (YYYY-MM-DD), ascending -> its digests and IC.
    """
    ics = {} if weekly_signal is None else dict(weekly_signal.select("date", "ic").iter_rows())
    filled_weeks = {} if fills is None else fills.by_week()
    weeks = {}
    for week, status in rebalances.select("date", "week_status").sort("date").iter_rows():
        own = decisions.get(week, SealedWeek(None, None, None, None, None))
        targets = _hasher(f"{status} {own.targets}").hexdigest()[:_DIGITS]
        filled = None if fills is None else filled_weeks.get(week, "")
        weeks[week.isoformat()] = own._replace(targets=targets, fills=filled, ic=ics.get(week))
    return weeks


class FillDigests:
    """Digests the fills of the published books; fills are added by book, and by time within a book."""

    def __init__(self) -> None:
        self._fills: dict[tuple[date, str], tuple[_Hash, _Hash]] = {}
        """Week and book -> hashes of the names and of the other columns."""

    def add(self, book: str, fills: pl.DataFrame) -> None:
        """Add fills of a book.

        Parameters
        ----------
        book : str
            Name of the book; raw books are ignored.
        fills : polars.DataFrame
            The next rows of the published table: ``decision_at``, ``timestamp``, ``symbol``, ``quantity``, ``mid_price``,
            ``fill_price`` and ``fee``.
        """
        if is_raw_book(book) or fills.is_empty():
            return
        names = _names(fills, "decision_at")
        instants = fills["timestamp"].cast(pl.Datetime("us", "UTC")).cast(pl.Int64).to_numpy()
        moments = instants.astype("<i8").view("<u4").reshape(-1, 2)
        # Fills of one day may belong to several decisions, so they are grouped by decision.
        by_decision = np.argsort(fills["decision_at"].cast(pl.Int32).to_numpy(), kind="stable")
        rows = np.column_stack([moments, *(_words(fills[name]) for name in _FILL)])[by_decision]
        for week, start, stop in _runs(fills["decision_at"].gather(by_decision)):
            name_hash, row_hash = self._fills.setdefault((week, book), (_hasher(), _hasher()))
            name_hash.update(f"{names[week]}\n".encode())
            row_hash.update(rows[start:stop].data)

    def by_week(self) -> dict[date, str]:
        """Return the digest of each week's fills.

        Returns
        -------
        dict of datetime.date to str
            Date of the decision that caused the fills -> digest.
        """
        weeks: dict[date, _Hash] = {}
        for (week, book), (name_hash, row_hash) in self._fills.items():
            digests = f"{book} {name_hash.hexdigest()} {row_hash.hexdigest()}\n"
            weeks.setdefault(week, _hasher()).update(digests.encode())
        return {week: week_hash.hexdigest()[:_DIGITS] for week, week_hash in weeks.items()}


def _digest(names: _Hash, columns: Sequence[Words]) -> str | None:
    """Digest the values of some names; None if the run did not seal the column."""
    if not columns:
        return None
    digest = names.copy()
    for words in columns:
        digest.update(words.data)
    return digest.hexdigest()[:_DIGITS]


def _runs(days: pl.Series) -> list[tuple[date, int, int]]:
    """Return each day with the range of its rows, which are adjacent."""
    dates, size = week_sizes(days)
    stops = np.cumsum(size)
    return list(zip(dates, (stops - size).tolist(), stops.tolist(), strict=True))


def _names(rows: pl.DataFrame, day: str) -> dict[date, str]:
    """Return the symbols of each day as one text, in row order."""
    symbols = pl.col("symbol").cast(pl.String).str.join("\n")
    return dict(rows.group_by(day).agg(symbols).iter_rows())


def _words(values: pl.Series) -> Words:
    return (rounded(values.to_numpy()).view(np.uint64) >> np.uint64(32)).astype("<u4")  # a null is NaN


def _hasher(text: str = "") -> _Hash:
    return hashlib.sha256(text.encode())
