"""What a pointer records of a snapshot's figures and tags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from datasets.figures.checks import CheckSummary
from datasets.pointer import Pointer
from schemas.metrics.headline import HEADLINE_VERSION, RECORDED
from schemas.metrics.statistic import SOURCES, Checked

SEALED: Final = ""
"""In place of the data a figure was computed from: the run sealed it."""
OTHER_VERSION: Final = "the figures were recorded by another version of the pipeline; build the seal again"
_NONE: Final = "-"
_CHECKED: Final = {
    Checked.REPRODUCED: "r",
    Checked.COMPUTED: "c",
    Checked.STATED: "s",
    Checked.CONTRADICTED: "x",
}
_CODES: Final = {SEALED: "s", **{source.kind: source.kind[0] for source in SOURCES}}


@dataclass(frozen=True, slots=True)
class Headline:
    """The figures of one snapshot.

    Attributes
    ----------
    values
        Figure -> its value, the kind of data it was computed from (:data:`SEALED` for a sealed one), and what it rests on.
    withheld
        Figure -> why it has no value.
    tags
        Labels of the written description; None where there is none.
    sessions
        Daily returns of the long_short book, which its Sharpe ratio is measured over; None without a ledger.
    checked
        What was checked of the run; None where its snapshot records no checks.
    """

    values: Mapping[str, tuple[float, str, Checked]]
    withheld: Mapping[str, str]
    tags: tuple[str, ...] | None = None
    sessions: int | None = None
    checked: CheckSummary | None = None

    def document(self) -> dict[str, Any]:
        """Return what stands in the pointer, JSON-ready: short, for every node has that of every alpha in memory."""
        entries = [self.values.get(figure.name) for figure in RECORDED]
        return {
            "version": HEADLINE_VERSION,
            "values": [None if entry is None else entry[0] for entry in entries],
            "made_of": "".join(_NONE if entry is None else _CODES[entry[1]] for entry in entries),
            "figures_checked": "".join(_NONE if entry is None else _CHECKED[entry[2]] for entry in entries),
            "withheld": dict(self.withheld),
            **({} if self.tags is None else {"tags": list(self.tags)}),
            **({} if self.sessions is None else {"sessions": self.sessions}),
            **({} if self.checked is None else {"checked": self.checked.document()}),
        }


Row = tuple[tuple[float, ...], bytes, bytes]
"""Figures in the order of :data:`schemas.metrics.headline.RECORDED`, NaN where one has no value, and two codes for each: of
what it was made of (:func:`code_of`), and of what it rests on (:func:`checked_of`)."""
_NO_CODES: Final = _NONE.encode() * len(RECORDED)
NO_ROW: Final[Row] = ((math.nan,) * len(RECORDED), _NO_CODES, _NO_CODES)
STATED: Final = ord(_CHECKED[Checked.STATED])
"""The code of a figure that no table supports."""
_CHECKED_OF: Final = {ord(code): checked for checked, code in _CHECKED.items()}


def code_of(kind: str) -> int:
    """Return the code of a kind of data, or of :data:`SEALED`."""
    return ord(_CODES[kind])


def checked_of(code: int) -> Checked | None:
    """Return what a figure rests on; None of one without a value."""
    return _CHECKED_OF.get(code)


def has_headline(pointer: Pointer) -> bool:
    """Whether the pointer has figures as this version of the pipeline computes them."""
    return pointer.headline.get("version") == HEADLINE_VERSION


def row_of(pointer: Pointer) -> Row:
    """Return the figures of what is served as a row of numbers; none of them has a value when they cannot be read."""
    if not has_headline(pointer):
        return NO_ROW
    recorded = pointer.headline
    try:
        values = tuple(math.nan if value is None else float(value) for value in recorded["values"])
        made_of, checked = (recorded[name].encode("ascii") for name in ("made_of", "figures_checked"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return NO_ROW
    whole = len(values) == len(made_of) == len(checked) == len(RECORDED)
    return (values, made_of, checked) if whole else NO_ROW


def reason_of(pointer: Pointer, name: str) -> str:
    """Return why a figure has no value."""
    withheld = pointer.headline.get("withheld") if has_headline(pointer) else None
    found = withheld.get(name) if isinstance(withheld, Mapping) else None
    return found if isinstance(found, str) else OTHER_VERSION


def sessions_of(pointer: Pointer) -> float:
    """Return the sessions of what is served; NaN where they are not recorded."""
    sessions = pointer.headline.get("sessions") if has_headline(pointer) else None
    return float(sessions) if isinstance(sessions, int) else math.nan


def tags_of(pointer: Pointer) -> tuple[str, ...]:
    """Return the tags of what is served, as far as they were recorded."""
    tags = pointer.headline.get("tags") if has_headline(pointer) else None
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list | tuple) else ()


def checked_in(pointer: Pointer) -> CheckSummary | None:
    """Return what was checked of what is served, None where it was not recorded."""
    recorded = pointer.headline.get("checked") if has_headline(pointer) else None
    try:
        return None if recorded is None else CheckSummary.from_document(recorded)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
