"""The figures of all alphas of a list, column by column, so that sorting and choosing are a few steps over arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from datasets.headline.record import NOT_RECORDED, SEALED, Headline, headline_of
from datasets.manifest import Pointer
from datasets.maths.series import Flags, Floats
from schemas.metrics.headline import HEADLINE, RECORDED

Places = npt.NDArray[np.intp]
"""Numbers of alphas in the list, from 0."""
_DAY: Final = slice(0, 10)
"""The day in a moment as pointers write it: UTC, year first."""


class Columns:
    """Figures, days and orders of the alphas of one list. Safe to share between threads.

    Parameters
    ----------
    pointers
        In the order of the list.
    """

    def __init__(self, pointers: Sequence[Pointer]) -> None:
        self._pointers = pointers

    @cached_property
    def _headlines(self) -> tuple[Headline | None, ...]:
        return tuple(map(headline_of, self._pointers))

    @cached_property
    def _figures(self) -> dict[str, tuple[Floats, npt.NDArray[np.object_]]]:
        """Figure -> its values, NaN where withheld, and the kinds of data they were computed from."""
        found = {}
        for figure in RECORDED:
            entries = [None if one is None else one.values.get(figure.name) for one in self._headlines]
            values = np.array([np.nan if entry is None else entry[0] for entry in entries], dtype=np.float64)
            kinds = np.array([SEALED if entry is None else entry[1] for entry in entries], dtype=object)
            found[figure.name] = (values, kinds)
        return found

    def prepare(self) -> None:
        """Make what is asked for most, so that no request waits for it."""
        _ = self._figures, self._by_address, self._tags

    def figure(self, name: str, closed: Collection[str]) -> Floats:
        """Return a figure of every alpha, NaN where it is withheld.

        Parameters
        ----------
        closed
            Kinds of data that are closed to the caller, and so what was computed from them.
        """
        values, kinds = self._figures[HEADLINE[name].recorded]
        for kind in closed:
            values = np.where(kinds == kind, np.nan, values)
        return values

    def entry(self, place: int, name: str, closed: Collection[str]) -> tuple[float | None, str | None]:
        """Return a figure of one alpha, or None and the reason; one that is closed has no reason here."""
        recorded, headline = HEADLINE[name].recorded, self._headlines[place]
        if headline is None:
            return None, NOT_RECORDED
        found = headline.values.get(recorded)
        if found is None:
            return None, headline.reason(recorded)
        return (None, None) if found[1] in closed else (found[0], None)

    def tagged(self, tag: str) -> Flags:
        """Whether each alpha has a tag, letter case aside."""
        flags = np.zeros(len(self._pointers), dtype=np.bool_)
        flags[self._tags.get(tag.casefold(), [])] = True
        return flags

    @cached_property
    def _tags(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, one in enumerate(self._headlines):
            for tag in (one.tags or ()) if one is not None else ():
                found.setdefault(tag.casefold(), []).append(place)
        return found

    @cached_property
    def started(self) -> npt.NDArray[np.object_]:
        """The day each run was started, as text."""
        return self._column(lambda x: x.started_at[_DAY])

    @cached_property
    def published(self) -> npt.NDArray[np.object_]:
        """The day each snapshot became the served one for the first time, as text."""
        return self._column(lambda x: x.first_published_at[_DAY])

    @cached_property
    def _by_address(self) -> Places:
        addresses = [x.alpha_id for x in self._pointers]
        return np.array(sorted(range(len(addresses)), key=addresses.__getitem__), dtype=np.intp)

    @cached_property
    def _ranks(self) -> dict[str, Floats]:
        keys: dict[str, Callable[[Pointer], str]] = {
            "alpha_id": lambda x: x.alpha_id,
            "name": lambda x: x.name.casefold(),
            "started_at": lambda x: x.started_at,
            "published_at": lambda x: x.first_published_at,
        }
        return {name: _rank([key(x) for x in self._pointers]) for name, key in keys.items()}

    def rank(self, name: str) -> Floats:
        """Return the place of each alpha by a text of its own, equal ones alike."""
        return self._ranks[name]

    def ordered(self, values: Floats, *, descending: bool) -> Places:
        """Return the alphas by a value, what has none last either way, ties by address."""
        by_address = self._by_address
        keys = -values[by_address] if descending else values[by_address]
        return by_address[np.argsort(keys, kind="stable")]

    def _column(self, key: Callable[[Pointer], str]) -> npt.NDArray[np.object_]:
        return np.array([key(x) for x in self._pointers], dtype=object)


def _rank(texts: list[str]) -> Floats:
    places = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.array([places[text] for text in texts], dtype=np.float64)
