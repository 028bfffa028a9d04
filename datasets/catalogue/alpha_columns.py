"""Figures of all alphas of a list as arrays, for sorting and filtering."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from datasets.figures.false_discoveries import (
    benjamini_hochberg,
    benjamini_yekutieli,
    hac_degrees,
    haircut_sharpe,
    mean_p_values,
)
from datasets.figures.headline import (
    CHECKED_BY_CODE,
    CODE_OF_KIND,
    OTHER_VERSION,
    STATED,
    Headline,
)
from datasets.figures.series import Flags, Floats, Matrix
from datasets.pointer import Pointer
from schemas.metrics.headline import HEADLINE, RECORDED
from schemas.metrics.statistic import Checked

Codes = npt.NDArray[np.uint8]
_COLUMNS: Final = {
    name: next(column for column, x in enumerate(RECORDED) if x.name == figure.recorded)
    for name, figure in HEADLINE.items()
    if figure.recorded
}
"""Figure -> its column."""
_MAX_ALLOWED: Final = 64
"""Maximum number of allow-lists whose flags are cached for one list of alphas."""
Places = npt.NDArray[np.intp]
"""Indices of alphas in the list."""
_DAY: Final = slice(0, 10)
"""Slice of the day in a pointer's timestamps (ISO 8601, UTC)."""


_NOT_COMPARED: Final = "no table supports one of the figures that it is computed from"


class Corrected(NamedTuple):
    """Figures corrected for testing all alphas that a reader may see, in list order; NaN for other alphas."""

    p_value: Floats
    q_value: Floats
    q_value_by: Floats
    haircut_sharpe: Floats


class Entry(NamedTuple):
    """A figure of one alpha with its evidence, or the reason why it is withheld."""

    value: float | None = None
    checked: Checked | None = None
    reason: str | None = None


class Allowed(Protocol):
    """The alphas that a key may read. Hashable."""

    @property
    def is_all(self) -> bool:
        """Whether every alpha is allowed."""
        ...

    def allows(self, name: str) -> bool:
        """Whether an alpha is allowed."""
        ...


class Columns:
    """Figures, days and sort orders of the alphas of a list. Thread-safe.

    Parameters
    ----------
    pointers
        Pointers in list order.
    """

    def __init__(self, pointers: Sequence[Pointer]) -> None:
        self._pointers = pointers
        self._allowed: dict[Allowed, Flags] = {}
        self._corrected: dict[tuple[Allowed, frozenset[str]], Corrected] = {}

    @cached_property
    def _figures(self) -> tuple[Matrix, Codes, Codes]:
        """Return values (NaN if withheld), source codes and evidence codes, each of shape (alphas, figures)."""
        headlines = [Headline.decode(pointer.headline) for pointer in self._pointers]
        shape = (len(headlines), len(RECORDED))
        values = np.array([x.values for x in headlines], dtype=np.float64).reshape(shape)
        source_codes, checked = (
            np.frombuffer("".join(codes).encode("ascii"), dtype=np.uint8).reshape(shape)
            for codes in ((x.made_of for x in headlines), (x.figures_checked for x in headlines))
        )
        return values, source_codes, checked

    def prepare(self) -> None:
        """Compute the most used arrays in advance, so that no request waits for them."""
        _ = self._figures, self._by_address

    def figure(self, name: str, closed: Collection[str]) -> Floats:
        """Return a figure of every alpha for comparisons; NaN if it is withheld or not supported by a table.

        Parameters
        ----------
        closed
            Kinds of data the caller may not read; figures computed from them are NaN.
        """
        matrix, source_codes, checked = self._figures
        column = _COLUMNS[name]
        codes = source_codes[:, column]
        values = np.where(checked[:, column] == STATED, np.nan, matrix[:, column])
        for kind in closed:
            values = np.where(codes == CODE_OF_KIND[kind], np.nan, values)
        return values

    def corrected(self, names: Allowed, closed: Collection[str]) -> Corrected:
        """Correct the figures of each alpha for the number of alphas that the reader may see.

        Parameters
        ----------
        names
            The alphas that the reader may see.
        closed
            As in :meth:`figure`.
        """
        key = names, frozenset(closed)
        corrected = self._corrected.get(key)
        if corrected is None:
            t_stats = np.where(self.allowed(names), self.figure("t_stat", closed), np.nan)
            degrees = hac_degrees(self.figure("sessions", closed))
            p_values = mean_p_values(t_stats, degrees)
            by = benjamini_yekutieli(p_values)
            haircut = haircut_sharpe(self.figure("information_ratio", closed), t_stats, degrees, by)
            if len(self._corrected) >= _MAX_ALLOWED:
                self._corrected.clear()
            corrected = self._corrected[key] = Corrected(p_values, benjamini_hochberg(p_values), by, haircut)
        return corrected

    def corrected_entry(self, place: int, name: str, names: Allowed, closed: Collection[str]) -> Entry:
        """Return a corrected figure of an alpha; the caller adds the reason if the reader may not see the alpha."""
        value = float(getattr(self.corrected(names, closed), name)[place])
        if not math.isnan(value):
            return Entry(value, Checked.COMPUTED)
        for needed in ("t_stat", "sessions", "information_ratio"):
            entry = self.entry(place, needed, closed)
            if entry.value is None or entry.checked is Checked.STATED:
                return Entry(reason=_NOT_COMPARED if entry.value is not None else entry.reason)
        return Entry(reason=_NOT_COMPARED)

    def entry(self, place: int, name: str, closed: Collection[str]) -> Entry:
        """Return a figure of one alpha; the caller adds the reason if the reader may not see it."""
        values, codes, checked = self._figures
        at = place, _COLUMNS[name]
        value, evidence = float(values[at]), CHECKED_BY_CODE.get(int(checked[at]))
        if math.isnan(value) or evidence is None:
            withheld = Headline.decode(self._pointers[place].headline).withheld
            return Entry(reason=withheld.get(HEADLINE[name].recorded, OTHER_VERSION))
        return Entry() if any(codes[at] == CODE_OF_KIND[kind] for kind in closed) else Entry(value, evidence)

    def allowed(self, names: Allowed) -> Flags:
        """Flag the alphas on an allow-list."""
        flags = self._allowed.get(names)
        if flags is None:
            flags = np.array([names.allows(x.alpha_id) for x in self._pointers], dtype=np.bool_)
            if len(self._allowed) >= _MAX_ALLOWED:
                self._allowed.clear()
            self._allowed[names] = flags
        return flags

    def tagged(self, tag: str) -> Flags:
        """Flag the alphas that have a tag, ignoring case."""
        flags = np.zeros(len(self._pointers), dtype=np.bool_)
        flags[self._tags.get(tag.casefold(), [])] = True
        return flags

    @cached_property
    def _tags(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, pointer in enumerate(self._pointers):
            for tag in Headline.decode(pointer.headline).tags:
                places.setdefault(tag.casefold(), []).append(place)
        return places

    @cached_property
    def supported(self) -> Flags:
        """Flags of the alphas whose tables reproduce all sealed figures; False if the checks were not recorded."""
        summaries = (Headline.decode(x.headline).checked for x in self._pointers)
        return np.array(
            [x is not None and not (x.stated or x.contradicted) for x in summaries], dtype=np.bool_
        )

    @cached_property
    def started(self) -> npt.NDArray[np.object_]:
        """Start day of each run as text."""
        return np.array([x.started_at[_DAY] for x in self._pointers], dtype=object)

    @cached_property
    def published(self) -> npt.NDArray[np.object_]:
        """Day of the first publication of each snapshot as text."""
        return np.array([x.first_published_at[_DAY] for x in self._pointers], dtype=object)

    @cached_property
    def _by_address(self) -> Places:
        addresses = [x.alpha_id for x in self._pointers]
        return np.array(sorted(range(len(addresses)), key=addresses.__getitem__), dtype=np.intp)

    @cached_property
    def ranks(self) -> Mapping[str, Floats]:
        """Column of texts or times -> rank of each alpha by it; equal ones have equal ranks."""
        # As text, a whole second would follow its fractions.
        keys: dict[str, Callable[[Pointer], str | datetime]] = {
            "alpha_id": lambda x: x.alpha_id,
            "name": lambda x: x.name.casefold(),
            "started_at": lambda x: datetime.fromisoformat(x.started_at),
            "published_at": lambda x: datetime.fromisoformat(x.first_published_at),
        }
        return {name: _rank([key(x) for x in self._pointers]) for name, key in keys.items()}

    def ordered(self, values: Floats, *, descending: bool) -> Places:
        """Return the indices of the alphas sorted by a value, missing values last, ties by address."""
        by_address = self._by_address
        keys = -values[by_address] if descending else values[by_address]
        return by_address[np.argsort(keys, kind="stable")]


def _rank(values: list[str | datetime]) -> Floats:
    ranks: Floats = np.unique(np.array(values, dtype=object), return_inverse=True)[1].astype(np.float64)
    return ranks
