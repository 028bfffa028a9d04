"""Rules on a seal, and their findings.

Rules on files are in :mod:`pipeline.seal`, rules on rows in :mod:`pipeline.rules`; each has one of the levels
declared here. :data:`pipeline.rules.RULES` lists all of them in the order of the checks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, TypeVar

from schemas.kinds import TABLE_KINDS

if TYPE_CHECKING:
    import polars as pl

P = ParamSpec("P")
Examples = TypeVar("Examples", Sequence[Any], "pl.DataFrame")

MAX_EXAMPLES: Final = 5
"""Maximum broken rows that a finding shows; its count includes all of them."""
_SHOWN: Final[ContextVar[int | None]] = ContextVar("examples_shown", default=MAX_EXAMPLES)


@contextlib.contextmanager
def all_examples() -> Iterator[None]:
    """Make rules show every broken row within the context."""
    token = _SHOWN.set(None)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def limited(examples: Examples) -> Examples:
    """Return the examples, or rows of a frame, that a finding shows: the first five, or all in `all_examples`."""
    return examples[: _SHOWN.get()]


class Level(StrEnum):
    """Subject of a rule, which determines its arguments."""

    FILE = "file"
    """The manifest, or the files of one kind: called with the facts about them."""
    TABLE = "table"
    """One table against its declaration: called once per table."""
    RUN = "run"
    """The rows of one or several tables against each other."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule.

    Attributes
    ----------
    kind
        The kind of the seal that holds the broken rows; ``seal`` for the manifest.
    rows
        Number of rows (or entries, if the file has no rows) that break the rule.
    examples
        Up to five of them, JSON-ready.
    message
        The fault, in one sentence.
    columns
        Columns at fault, of a rule that voids them.
    rule, remedy
        Stable id of the rule, and the fix; added by the :class:`Rule`.
    file
        Path of the file inside the seal; the usual one of the kind until the report knows it.
    """

    kind: str
    rows: int
    examples: Sequence[Mapping[str, Any]]
    message: str
    columns: tuple[str, ...] = ()
    rule: str = ""
    remedy: str = ""
    file: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON-ready mapping."""
        return {
            "rule": self.rule,
            "file": self.file,
            "rows": self.rows,
            "examples": [dict(example) for example in self.examples],
            "message": self.message,
            "remedy": self.remedy,
        }


@dataclass(frozen=True, slots=True)
class Coverage:
    """Result of a rule's function if only some of its rows can be compared.

    Attributes
    ----------
    checked, of
        Rows that were compared, and rows that the rule applies to.
    checked_without_raw
        Rows of `checked` that were compared without raw books, which not every reader may see.
    finding
        Finding of the rule; None if no compared row breaks it, and once :meth:`Rule.apply` has returned it separately.
    reason
        Reason why no row could be compared; else None.
    """

    checked: int
    of: int
    checked_without_raw: int
    finding: Finding | None = None
    reason: str | None = None

    def __add__(self, other: Coverage) -> Coverage:
        """Return the combined coverage of two parts of a run."""
        checked = self.checked + other.checked
        return Coverage(
            checked,
            self.of + other.of,
            self.checked_without_raw + other.checked_without_raw,
            reason=None if checked else self.reason or other.reason,
        )


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule, or a part of one, that could not be checked, and the reason."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[P]):
    """One rule: a pure function with an id, a meaning and a fix. Calling it applies it.

    Attributes
    ----------
    id
        ``group.name``; stable, because reports and operators refer to it.
    meaning, remedy
        Its requirement, and the fix when it is broken.
    body
        The function that checks; this class adds id, remedy and file to its findings.
    level
        Subject of the rule, which determines its arguments.
    needs
        Kind -> columns that the check requires.
    uses
        Kind -> columns that it also checks if they are present.
    unique
        Kinds whose keys must be unique for a meaningful result.
    warns
        Whether a finding is a warning rather than a refusal.
    voids
        Whether other rules cannot use the values of a column that breaks it.
    """

    id: str
    meaning: str
    remedy: str
    body: Callable[P, Finding | Coverage | None]
    level: Level = Level.RUN
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unique: tuple[str, ...] = ()
    warns: bool = False
    voids: bool = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Finding | None:
        """Apply the rule; return the finding, or None if it holds."""
        return self.apply(*args, **kwargs)[0]

    def apply(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Finding | None, Coverage | None]:
        """Apply the rule; return the finding, or None if it holds, and the coverage if the rule measures it."""
        outcome = self.body(*args, **kwargs)
        if isinstance(outcome, Coverage):
            finding, coverage = outcome.finding, replace(outcome, finding=None)
        else:
            finding, coverage = outcome, None
        if finding is not None:
            file = default_file(finding.kind)
            finding = replace(finding, rule=self.id, remedy=self.remedy, file=file)
        return finding, coverage

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that the rule reads."""
        return tuple(dict.fromkeys((*self.needs, *self.uses)))


class Decorator(Protocol):
    """Turns the function of a rule into the rule."""

    def __call__(self, body: Callable[P, Finding | Coverage | None]) -> Rule[P]:
        """Return the rule."""


def rule(id: str, meaning: str, remedy: str, **attributes: Any) -> Decorator:  # noqa: A002 -- the word used in every report
    """Return a decorator that declares a rule on rows; for the attributes see :class:`Rule`."""

    def declare(body: Callable[P, Finding | Coverage | None]) -> Rule[P]:
        return Rule(id, meaning, remedy, body, **attributes)

    return declare


table_rule: Final = partial(rule, level=Level.TABLE)
"""Declares a rule on one table."""
file_rule: Final = partial(rule, level=Level.FILE)
"""Declares a rule on files."""


def default_file(kind: str) -> str:
    """Return the usual file name of a kind; reports replace it by the sealed path."""
    if kind in TABLE_KINDS:
        return f"{kind}.parquet"
    return {"source": "source/", "sealed_metrics": "metrics.json"}.get(kind, f"{kind}.json")
