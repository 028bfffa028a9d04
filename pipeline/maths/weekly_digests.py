"""A digest of every week of a run, by which a later seal of the alpha shows whether it changed the past.

Values are rounded to :data:`SIGNIFICANT_BITS` binary digits, one part in a million, before they are digested: an engine
that is run again on another processor differs in the last bits of a double, and that restates nothing. The rounding is
done by exact operations on doubles and the bytes are laid out here, so a digest depends on no library's release. Only
columns and books that every reader of the dataset sees take part: no raw score, no raw book.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.series import Floats
from datasets.sealed_weeks import SealedWeek, WeekDigests
from schemas.tables.books import RAW_PREFIX

SIGNIFICANT_BITS: Final = 20
"""Binary digits of a value that are digested; a change below one part in a million is taken for none."""
_DROPPED: Final = np.uint64(np.finfo(np.float64).nmant + 1 - SIGNIFICANT_BITS)
_HALF: Final = np.uint64(1) << (_DROPPED - np.uint64(1))
_NAN: Final = np.array(np.nan).view(np.uint64)
_BYTES: Final = 8
_TARGETS: Final = ("long_short_target_weight", "long_only_target_weight")
_FILL: Final = ("quantity", "mid_price", "fill_price", "fee")

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]
HalfWords = np.ndarray[tuple[int], np.dtype[np.uint32]]
"""Values as words of 32 bits, the least significant byte first; what rounding leaves of a double fills no more."""


def rounded(values: Floats) -> Floats:
    """Round to :data:`SIGNIFICANT_BITS` binary digits, half to even.

    Parameters
    ----------
    values : float64, shape (n,)
        Any values; NaN and infinities stay what they are. Subnormal numbers keep fewer digits.

    Returns
    -------
    float64, shape (n,)
        One zero and one NaN, whatever their sign and payload were.
    """
    return _rounded_words(values).view(np.float64)


def _rounded_words(values: Floats) -> Words:
    """Round the words that doubles are stored as: what a mantissa loses is dropped, and carries into what it keeps."""
    words = np.ascontiguousarray(values, np.float64).view(np.uint64)
    rounded_words = words + (_HALF - np.uint64(1) + ((words >> _DROPPED) & np.uint64(1)))
    rounded_words &= ~(np.uint64(2) * _HALF - np.uint64(1))
    rounded_words[values == 0.0] = 0
    rounded_words[np.isnan(values)] = _NAN
    return rounded_words


def digest_decisions(decisions: pl.DataFrame | None) -> dict[date, WeekDigests]:
    """Digest every week's scores, targets and forward returns.

    Parameters
    ----------
    decisions : polars.DataFrame or None
        The published cross-sections by date and symbol; None where the run sealed none.

    Returns
    -------
    dict
        Week -> its digests, those of its fills None.
    """
    if decisions is None or decisions.is_empty():
        return {}
    runs = _runs(decisions["date"])
    names = _names(decisions["symbol"])
    scores, targets, returns = (
        _by_run(runs, names, decisions, columns) for columns in (("score",), _TARGETS, ("forward_return",))
    )
    return {week: WeekDigests(scores[n], targets[n], returns[n], None) for n, (week, _, _) in enumerate(runs)}


def seal_weeks(
    rebalances: pl.DataFrame,
    decisions: Mapping[date, WeekDigests],
    fills: FillDigests | None,
    weekly_signal: pl.DataFrame | None,
) -> dict[str, SealedWeek]:
    """Say of every week of a run what is remembered of it.

    Parameters
    ----------
    rebalances : polars.DataFrame
        The index: ``date``, ``week_status``; what became of a week is digested with its targets.
    decisions : Mapping[date, WeekDigests]
        Result of :func:`digest_decisions`.
    fills : FillDigests or None
        What was gathered of the fills; None where the run sealed none.
    weekly_signal : polars.DataFrame or None
        ``date`` and ``ic``; None where the run sealed no cross-sections.

    Returns
    -------
    dict
        Week (YYYY-MM-DD), ascending -> its digests and IC.
    """
    ics = {} if weekly_signal is None else dict(weekly_signal.select("date", "ic").iter_rows())
    bought = {} if fills is None else fills.by_week()
    weeks = {}
    for week, status in rebalances.select("date", "week_status").sort("date").iter_rows():
        own = decisions.get(week, WeekDigests(None, None, None, None))
        targets = _hash(f"{status} {own.targets}".encode()).hex()
        filled = None if fills is None else bought.get(week, "")
        weeks[week.isoformat()] = SealedWeek(own._replace(targets=targets, fills=filled), ics.get(week))
    return weeks


class FillDigests:
    """Gathers the fills of the published books, in the order of the books and of the time within each."""

    def __init__(self) -> None:
        self._weeks: dict[date, hashlib.blake2b] = {}

    def add(self, book: str, fills: pl.DataFrame) -> None:
        """Add the next fills of a book, in the order of the published table; raw books are left out."""
        if book.startswith(RAW_PREFIX) or fills.is_empty():
            return
        # Fills of one day come of few decisions, those of a book of every one: each week's are brought together.
        by_decision = np.argsort(fills["decision_at"].to_physical().to_numpy(), kind="stable")
        instants = fills["timestamp"].cast(pl.Datetime("us", "UTC")).to_physical().to_numpy()
        moments = instants.astype("<i8").view("<u4").reshape(-1, 2)
        name = np.broadcast_to(np.frombuffer(_hash(book.encode()), "<u4"), (fills.height, 2))
        rows = np.column_stack([name, moments, *_names(fills["symbol"]), *_values(fills, _FILL)])[by_decision]
        for week, start, stop in _runs(fills["decision_at"].gather(by_decision)):
            gathered = self._weeks.setdefault(week, hashlib.blake2b(digest_size=_BYTES))
            gathered.update(rows[start:stop].tobytes())

    def by_week(self) -> dict[date, str]:
        """Return the digest of each week's fills, by the decision that caused them."""
        return {week: gathered.hexdigest() for week, gathered in self._weeks.items()}


def _by_run(
    runs: Sequence[tuple[date, int, int]],
    names: Sequence[HalfWords],
    rows: pl.DataFrame,
    columns: Sequence[str],
) -> list[str | None]:
    """Digest columns range by range; None where the run sealed none of them."""
    present = [name for name in columns if name in rows.columns]
    if not present:
        return [None] * len(runs)
    packed = np.column_stack([*names, *_values(rows, present)])
    return [_hash(packed[start:stop].tobytes()).hex() for _, start, stop in runs]


def _runs(days: pl.Series) -> list[tuple[date, int, int]]:
    """Return each day with the range of its rows, which stand together."""
    runs = days.rle().struct.unnest()
    ends = runs["len"].cum_sum()
    return list(zip(runs["value"], ends - runs["len"], ends, strict=True))


def _values(rows: pl.DataFrame, columns: Sequence[str]) -> list[HalfWords]:
    return [
        (_rounded_words(rows[name].to_numpy()) >> np.uint64(32)).astype("<u4")  # a null is NaN
        for name in columns
    ]


def _names(symbols: pl.Series) -> list[HalfWords]:
    """Return two words for each row's name, a digest of it."""
    if symbols.dtype == pl.String:
        symbols = symbols.cast(pl.Categorical(pl.Categories.random()))
    names = symbols.unique()
    code = names.to_physical().to_numpy()
    words = np.zeros((2, int(code.max()) + 1), "<u4")
    words[:, code] = np.frombuffer(b"".join(_hash(name.encode()) for name in names), "<u4").reshape(-1, 2).T
    return list(words[:, symbols.to_physical().to_numpy()])


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_BYTES).digest()
