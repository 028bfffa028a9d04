"""Request parameters; the parser, the 400 message and the OpenAPI schema derive from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from schemas.table import PATTERNS, Bound
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.tables.sealed_metrics import SCOPES

MAX_PAGE: Final = 5000
"""Largest page any collection serves."""
DEFAULT_PAGE: Final = 100
"""Default page size."""
DAILY_PAGE: Final = 500
"""Default page size of the two daily series, equity curve and benchmark."""
TICKERS: Final = r"\s*{0}\s*(,\s*{0}\s*)*".format(PATTERNS[Bound.TICKER])
"""One or several tickers. Tickers have no commas or white space, so white space around them is ignored."""
MAX_COMPARED: Final = 50
"""Maximum number of alphas in one request."""
ADDRESS: Final = r"[^,\s\x00-\x1f\x7f-\x9f\uFEFF]+"
"""An address in a list; its existence and the key's access are checked later."""
NAMED_WEIGHTS: Final = ("equal", "volatility")
"""Weightings of the alphas of a book that need no numbers."""
_WEIGHT: Final = r"([0-9]{1,9}(\.[0-9]{0,15})?|\.[0-9]{1,15})"
WEIGHTS_TEXT: Final = rf"({'|'.join(NAMED_WEIGHTS)}|{_WEIGHT}(,{_WEIGHT}){{0,{MAX_COMPARED}}})"
"""Weighting of the alphas of a book."""
CURSOR: Final = r"[A-Za-z0-9_-]{48}"
"""A position in the feed of changes."""
MAX_OFFSET: Final = 2**53 - 1
"""Largest offset: the largest integer that every JSON parser represents exactly."""


class ParameterKind(StrEnum):
    """Type of a parameter."""

    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    NAMES = "names"
    TEXT = "text"
    SYMBOLS = "symbols"
    ALPHAS = "alphas"
    WEIGHTS = "weights"
    BOOK = "book"
    CURSOR = "cursor"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One request parameter.

    Attributes
    ----------
    name
        Its name in the query string or the path template.
    kind
        Its type.
    meaning
        For the documents.
    default
        Value when absent; None for no restriction.
    minimum, maximum
        Inclusive bounds of numbers; for text, `minimum` is the least number of characters.
    choices
        Accepted words, in lower case.
    least
        Minimum number of alphas of a list, which has at most :data:`MAX_COMPARED`.
    required
        Whether leaving it out is an error.
    in_path
        Whether it is a segment of the path.
    """

    name: str
    kind: ParameterKind
    meaning: str
    default: int | float | str | bool | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    least: int = 1
    required: bool = False
    in_path: bool = False

    @property
    def pattern(self) -> str:
        """Regular expression that its text matches; empty without one."""
        if self.kind is ParameterKind.NAMES:
            name = f"({'|'.join(self.choices)})"
            return f"{name}(,{name})*"
        if self.kind is ParameterKind.ALPHAS:
            more = f"{{{self.least - 1},{MAX_COMPARED - 1}}}"
            return rf"\s*{ADDRESS}\s*(,\s*{ADDRESS}\s*){more}"
        return _PATTERNS.get(self.kind, "")

    @property
    def constraint(self) -> str:
        """Its rule in words, for 400 answers and the OpenAPI document."""
        if self.kind is ParameterKind.INTEGER:
            return f"a plain decimal integer from {self.minimum:.0f} to {self.maximum:.0f}"
        if self.kind is ParameterKind.NUMBER:
            least = "" if self.minimum is None else f", at least {self.minimum:g}"
            return f"a finite decimal number{least}"
        if self.kind in (ParameterKind.CHOICE, ParameterKind.NAMES):
            several = self.kind is ParameterKind.NAMES
            which = "one or more, separated by commas, of " if several else "one of "
            return which + ", ".join(self.choices)
        if self.kind is ParameterKind.ALPHAS:
            return f"{self.least} to {MAX_COMPARED} addresses of alphas, separated by commas, without white space inside them"
        if self.kind is ParameterKind.TEXT and self.minimum is not None:
            return f"text of at least {self.minimum:.0f} character; otherwise leave it out"
        return _RULES.get(self.kind, "text")


_RULES: Final = {
    ParameterKind.DATE: "a real calendar day written YYYY-MM-DD",
    ParameterKind.BOOLEAN: "one of 1, true, 0, false",
    ParameterKind.SYMBOLS: "one or more tickers, separated by commas, each of 1 to 64 characters without white space or invisible characters",
    ParameterKind.BOOK: "the name of a book this key can read",
    ParameterKind.WEIGHTS: "`equal`, `volatility`, or plain decimal numbers of at least 0, separated by commas",
    ParameterKind.CURSOR: "a cursor from an earlier answer",
    ParameterKind.FORBIDDEN: "not accepted here; leave it out, or use /positions or /pnl",
}
"""Kind -> rule, for kinds whose parameters all have the same rule."""
_PATTERNS: Final = {
    ParameterKind.SYMBOLS: TICKERS,
    ParameterKind.CURSOR: CURSOR,
    ParameterKind.WEIGHTS: WEIGHTS_TEXT,
}
"""Kind -> regular expression, likewise."""


def text(name: str, meaning: str, **rules: Any) -> Parameter:
    """Declare a text."""
    return Parameter(name, ParameterKind.TEXT, meaning, **rules)


def day(name: str, meaning: str, **rules: Any) -> Parameter:
    """Declare a calendar day."""
    return Parameter(name, ParameterKind.DATE, meaning, **rules)


def flag(name: str, meaning: str) -> Parameter:
    """Declare a boolean, false by default."""
    return Parameter(name, ParameterKind.BOOLEAN, meaning, default=False)


def integer(name: str, meaning: str, *, minimum: int, maximum: int, default: int | None = None) -> Parameter:
    """Declare an integer between two inclusive bounds."""
    return Parameter(name, ParameterKind.INTEGER, meaning, default, minimum, maximum)


def number(name: str, meaning: str, **rules: Any) -> Parameter:
    """Declare a number."""
    return Parameter(name, ParameterKind.NUMBER, meaning, **rules)


def choice(name: str, meaning: str, words: tuple[str, ...], **rules: Any) -> Parameter:
    """Declare a choice among words."""
    return Parameter(name, ParameterKind.CHOICE, meaning, choices=words, **rules)


def _symbols(name: str, meaning: str) -> Parameter:
    return Parameter(name, ParameterKind.SYMBOLS, meaning)


def _alphas(name: str, meaning: str, **rules: Any) -> Parameter:
    return Parameter(name, ParameterKind.ALPHAS, meaning, **rules)


def _in_path(parameter: Parameter) -> Parameter:
    return replace(parameter, required=True, in_path=True)


LIMIT: Final = integer("limit", "Rows in the page.", default=DEFAULT_PAGE, minimum=1, maximum=MAX_PAGE)
DAILY_LIMIT: Final = replace(LIMIT, default=DAILY_PAGE)
OFFSET: Final = integer("offset", "Rows to skip before the page.", default=0, minimum=0, maximum=MAX_OFFSET)
FROM: Final = day("from", "First day of the window, inclusive.")
TO: Final = day("to", "Last day of the window, inclusive.")
SYMBOL: Final = _symbols(
    "symbol", "Keep only these tickers, case-sensitive; an unknown one matches no row and gives a notice."
)
BOOK: Final = Parameter("book", ParameterKind.BOOK, "The book to read.", default="long_short")
REQUIRED_BOOK: Final = replace(BOOK, default=None, required=True)
TABLE_BOOK: Final = replace(
    BOOK,
    default=None,
    meaning="Book of the file, `long_short` by default; only for tables that are stored by book.",
)
WEIGHT_BOOK: Final = choice(
    "book",
    "Book whose target weights `min_abs_weight` and `sort=weight` use; both columns are returned.",
    CONDITIONED_BOOKS,
    default="long_short",
)
NO_SYMBOL: Final = Parameter("symbol", ParameterKind.FORBIDDEN, "The ledger has no symbols.")
SEARCH: Final = text("search", "Case-insensitive substring of `alpha_id`, `name` or `tldr`.")
COMPLETE_ONLY: Final = flag("complete_only", "Leave out alphas whose run lacks a required kind.")
FIELDS: Final = choice(
    "fields",
    "Columns of each row: the nine core columns, or the full decision record.",
    ("core", "all"),
    default="core",
)
SIDES: Final = {"1": 1, "long": 1, "-1": -1, "short": -1, "0": 0, "flat": 0, "neutral": 0}
"""Word -> sign of the score."""
DIRECTION: Final = choice("direction", "Keep one side of the cross-section.", tuple(SIDES))
MIN_ABS_WEIGHT: Final = number(
    "min_abs_weight", "Drop names whose absolute target weight in the chosen `book` is below this.", minimum=0
)
SORT: Final = choice(
    "sort", "Sort column; ties are sorted by ticker.", ("score", "rank", "weight", "symbol"), default="score"
)
ORDER: Final = choice(
    "order",
    "Sort direction; by default descending for score and weight, ascending for rank and symbol.",
    ("asc", "desc"),
)
GRANULARITY: Final = choice(
    "granularity",
    "Whether `periods` breaks the core statistics down by year or by month.",
    SCOPES,
    default="overall",
)
DOC: Final = flag("doc", "Embed the documentation block.")
PANEL: Final = flag("panel", "Add the weekly panel block.")

BY: Final = choice(
    "by",
    "What is compared: the daily `returns` of the book; the weekly ranks of the `scores` over names that both score; or the daily "
    "`holdings` of the book.",
    ("returns", "scores", "holdings"),
    default="returns",
)
NEAREST: Final = choice(
    "order",
    "Which alphas come first: the most similar, the least similar, or those with the largest absolute figure, so that an inverse ranks as "
    "high as a copy; ties are sorted by address.",
    ("nearest", "farthest", "strongest"),
    default="nearest",
)
COMPARED: Final = _alphas(
    "alphas",
    "Alphas to compare, in the order of rows and columns.",
    least=2,
    required=True,
)
BOOK_OF: Final = _alphas(
    "alphas",
    "Alphas of the book; repeated ones count once, and the alpha of the path is left out.",
    required=True,
)
WEIGHTS: Final = Parameter(
    "weights",
    ParameterKind.WEIGHTS,
    "Weighting of the alphas: `equal`; `volatility`, inverse to the volatility of each alpha's common returns, for equal risk; or one "
    "number for each alpha, this one first, then the others in the order of `alphas`, not all of the others 0.",
    default="equal",
)
AMONG: Final = _alphas(
    "among",
    "Compare only with these alphas, rather than with all that the key may read. Required with `by=scores` and `by=holdings`, which "
    f"read files of each alpha, if the key may read more than {MAX_COMPARED} others.",
)

MAX_TRIALS: Final = 10**9
"""Maximum number of trials that a run may have been selected from."""
TRIALS: Final = integer(
    "trials",
    "Number of trials that the run was selected from, itself included; leave out copies, since each counts as one. By default the "
    "trials that the run sealed, otherwise the runs of the catalogue.",
    minimum=1,
    maximum=MAX_TRIALS,
)
TRIAL_DEVIATION: Final = number(
    "trial_deviation",
    "Standard deviation of the annualised Sharpe ratios of these trials; by default of the trials whose returns were sealed, "
    "otherwise of the runs counted in the catalogue.",
    minimum=0,
)

MAX_BENCHMARKS: Final = 10
"""Maximum number of benchmarks in one request, each with its own regression."""
BENCHMARKS: Final = _symbols(
    "benchmarks",
    f"At most {MAX_BENCHMARKS} symbols of `/v1/benchmarks`, each with its own regression. By default `SPY`, or the first benchmark "
    "if the market data have no SPY.",
)
BENCHMARK: Final = text(
    "benchmark",
    "Symbol of `/v1/benchmarks` that defines the market. By default `SPY`, or the first benchmark if the market data have no SPY.",
)
MIN_ROLLING: Final = 20
"""Minimum number of sessions of a rolling regression."""
ROLLING: Final = integer(
    "rolling",
    "Number of measured sessions of each rolling regression.",
    default=252,
    minimum=MIN_ROLLING,
    maximum=1260,
)

SNAPSHOT: Final = text(
    "snapshot",
    "Answer from this snapshot of the run, which `meta.snapshot` of an earlier answer names, even if a newer one is served. So all pages "
    "come from one build. Once the snapshot is removed, the answer is `snapshot_not_found`.",
    minimum=1,
)

SINCE: Final = Parameter(
    "since",
    ParameterKind.CURSOR,
    "Continue after this cursor: `meta.next` of the previous page, or `cursor` of a row. By default start with the oldest recorded "
    "change.",
)
TO_SNAPSHOT: Final = text("to_snapshot", "Id of the later snapshot; by default the one served.", minimum=1)
FROM_SNAPSHOT: Final = text(
    "from_snapshot",
    "Id of the earlier snapshot; by default the one published before the later one, or the later one itself if there is no "
    "other.",
    minimum=1,
)

ALPHA_PATH: Final = _in_path(text("alpha", "The alpha's address, as `/v1/alphas` lists it."))
DATE_PATH: Final = _in_path(day("date", "A rebalance date of the index."))
TABLE_PATH: Final = _in_path(
    choice(
        "table",
        "A published table; `/v1/alphas/{alpha}/tables` lists those that the run has and the key may read.",
        tuple(PUBLISHED_TABLES),
    )
)
SYMBOL_PATH: Final = _in_path(
    text("symbol", "A benchmark of this deployment, in capitals; any other is a 400 that lists them.")
)
KEY_PATH: Final = _in_path(text("key_id", "The id of a key."))
