"""Request parameters, declared once: the parser, the 400 message and the OpenAPI schema derive from here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from schemas.table import PATTERNS, Bound
from schemas.tables import PUBLISHED_TABLES

MAX_PAGE: Final = 5000
"""Largest page any collection serves."""
DEFAULT_PAGE: Final = 100
"""Page size when the request names none."""
DAILY_PAGE: Final = 500
"""Page size of the two daily series (equity curve and benchmark) when the request names none."""
TICKERS: Final = r"\s*{0}\s*(,\s*{0}\s*)*".format(PATTERNS[Bound.TICKER])
"""One ticker or several: no ticker of a seal has a comma or white space in it, so white space around one is ignored."""
MAX_COMPARED: Final = 50
"""Alphas that one request compares, or names, at most."""
ADDRESS: Final = r"[^,\s]+"
"""An address in a list; whether there is such an alpha, and whether the key may read it, is checked afterwards."""
_WEIGHT: Final = r"([0-9]{1,9}(\.[0-9]{0,15})?|\.[0-9]{1,15})"
WEIGHTS_TEXT: Final = rf"(equal|volatility|{_WEIGHT}(,{_WEIGHT}){{0,{MAX_COMPARED}}})"
"""How the money of a book is spread."""
CURSOR: Final = r"[A-Za-z0-9_-]{48}"
"""A place among the changes of a catalogue."""
MAX_OFFSET: Final = 2**53 - 1
"""Largest offset: the largest integer every JSON reader keeps exact."""


class ParameterKind(StrEnum):
    """How the text of a parameter is read."""

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
        As it stands in the query string, or in the path template.
    kind
        How its text is read.
    meaning
        What it does, for the documents.
    default
        Value when absent; None means "no restriction", or that there is no default with `required`.
    minimum, maximum
        Inclusive bounds of numbers.
    choices
        Accepted words, in lower case.
    synonyms
        Choice -> the choice that it is another word for.
    least, most
        How many alphas a list names.
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
    synonyms: tuple[tuple[str, str], ...] = ()
    least: int = 1
    most: int = 1
    required: bool = False
    in_path: bool = False

    @property
    def pattern(self) -> str:
        """Regular expression of the text of a list of tickers, of alphas or of declared names, and of a cursor."""
        if self.kind is ParameterKind.SYMBOLS:
            return TICKERS
        if self.kind is ParameterKind.CURSOR:
            return CURSOR
        if self.kind is ParameterKind.WEIGHTS:
            return WEIGHTS_TEXT
        if self.kind is ParameterKind.NAMES:
            name = f"({'|'.join(self.choices)})"
            return f"{name}(,{name})*"
        more = f"{{{self.least - 1},{self.most - 1}}}"
        return rf"\s*{ADDRESS}\s*(,\s*{ADDRESS}\s*){more}"

    @property
    def constraint(self) -> str:
        """The rule a value must keep, as the 400 answer and the OpenAPI document word it."""
        if self.kind is ParameterKind.INTEGER:
            return f"a plain decimal integer from {self.minimum:.0f} to {self.maximum:.0f}"
        if self.kind is ParameterKind.NUMBER:
            least = "" if self.minimum is None else f", at least {self.minimum:g}"
            return f"a finite decimal number{least}"
        if self.kind in (ParameterKind.CHOICE, ParameterKind.NAMES):
            several = self.kind is ParameterKind.NAMES
            which = "one or several, separated by commas, of " if several else "one of "
            return which + ", ".join(self.choices)
        if self.kind is ParameterKind.ALPHAS:
            return (
                f"from {self.least} to {self.most} addresses of alphas separated by commas, none of them empty or "
                "with white space inside it"
            )
        return _RULES.get(self.kind, "text")


_RULES: Final = {
    ParameterKind.DATE: "a real calendar day written YYYY-MM-DD",
    ParameterKind.BOOLEAN: "one of 1, true, 0, false",
    ParameterKind.SYMBOLS: "one ticker or several separated by commas, each of 1 to 64 characters without white space or invisible ones",
    ParameterKind.BOOK: "the name of a book this key can read",
    ParameterKind.WEIGHTS: "`equal`, `volatility`, or plain decimal numbers separated by commas",
    ParameterKind.CURSOR: "a cursor as an earlier answer gave it",
    ParameterKind.FORBIDDEN: "not accepted here; leave it out, or use /positions or /pnl",
}
"""Rules that are the same for every parameter of a kind."""


LIMIT: Final = Parameter(
    "limit", ParameterKind.INTEGER, "Rows in the page.", default=DEFAULT_PAGE, minimum=1, maximum=MAX_PAGE
)
DAILY_LIMIT: Final = replace(LIMIT, default=DAILY_PAGE)
OFFSET: Final = Parameter(
    "offset", ParameterKind.INTEGER, "Rows to skip before the page.", default=0, minimum=0, maximum=MAX_OFFSET
)
FROM: Final = Parameter("from", ParameterKind.DATE, "First day of the window, inclusive.")
TO: Final = Parameter("to", ParameterKind.DATE, "Last day of the window, inclusive.")
SYMBOL: Final = Parameter(
    "symbol",
    ParameterKind.SYMBOLS,
    "Keep only these tickers, letter case and all; one the run never had matches no row, and a notice says so.",
)
BOOK: Final = Parameter("book", ParameterKind.BOOK, "The book to read.", default="long_short")
REQUIRED_BOOK: Final = replace(BOOK, default=None, required=True)
TABLE_BOOK: Final = replace(
    BOOK,
    default=None,
    meaning="The book whose file it is, `long_short` by default; only of tables that are stored by book.",
)
WEIGHT_BOOK: Final = Parameter(
    "book",
    ParameterKind.CHOICE,
    "Whose target-weight column `min_abs_weight` and `sort=weight` act on; both columns are returned.",
    default="long_short",
    choices=("long_short", "long_only"),
)
NO_SYMBOL: Final = Parameter("symbol", ParameterKind.FORBIDDEN, "The ledger has no symbol dimension.")
SEARCH: Final = Parameter(
    "search", ParameterKind.TEXT, "Case-insensitive substring of `alpha_id`, `name` or `tldr`."
)
COMPLETE_ONLY: Final = Parameter(
    "complete_only", ParameterKind.BOOLEAN, "Leave out alphas whose run lacks a required kind.", default=False
)
FIELDS: Final = Parameter(
    "fields",
    ParameterKind.CHOICE,
    "The columns of each row: the nine core ones, or the full decision record.",
    default="core",
    choices=("core", "all"),
)
DIRECTION: Final = Parameter(
    "direction",
    ParameterKind.CHOICE,
    "Keep one side of the cross-section.",
    choices=("1", "long", "-1", "short", "0", "flat", "neutral"),
    synonyms=(("long", "1"), ("short", "-1"), ("flat", "0"), ("neutral", "0")),
)
MIN_ABS_WEIGHT: Final = Parameter(
    "min_abs_weight",
    ParameterKind.NUMBER,
    "Drop names whose absolute target weight, in the column chosen by `book`, is below this.",
    minimum=0,
)
SORT: Final = Parameter(
    "sort",
    ParameterKind.CHOICE,
    "Column the rows are ordered by; ties are ordered by ticker.",
    default="score",
    choices=("score", "rank", "weight", "symbol"),
)
ORDER: Final = Parameter(
    "order",
    ParameterKind.CHOICE,
    "Direction of the order; by default descending for score and weight, ascending for rank and symbol.",
    choices=("asc", "desc"),
)
GRANULARITY: Final = Parameter(
    "granularity",
    ParameterKind.CHOICE,
    "Whether `periods` breaks the core statistics down by year or by month.",
    default="overall",
    choices=("overall", "yearly", "monthly"),
)
DOC: Final = Parameter("doc", ParameterKind.BOOLEAN, "Embed the documentation block.", default=False)
PANEL: Final = Parameter("panel", ParameterKind.BOOLEAN, "Add the weekly panel block.", default=False)

BY: Final = Parameter(
    "by",
    ParameterKind.CHOICE,
    "What is compared: `returns`, the daily returns of the book; `scores`, week by week the ranks of the scores over the names "
    "that both score; `holdings`, session by session the names the book holds.",
    default="returns",
    choices=("returns", "scores", "holdings"),
)
NEAREST: Final = Parameter(
    "order",
    ParameterKind.CHOICE,
    "Whether the most alike come first, the least alike, or the largest figures whatever their sign, so that an inverse comes as early as a "
    "copy; ties are ordered by address.",
    default="nearest",
    choices=("nearest", "farthest", "strongest"),
)
COMPARED: Final = Parameter(
    "alphas",
    ParameterKind.ALPHAS,
    "The alphas to compare, in the order of rows and columns.",
    least=2,
    most=MAX_COMPARED,
    required=True,
)
BOOK_OF: Final = Parameter(
    "alphas",
    ParameterKind.ALPHAS,
    "The alphas of the book; a repeated one counts once, and the alpha of the path is left out.",
    most=MAX_COMPARED,
    required=True,
)
WEIGHTS: Final = Parameter(
    "weights",
    ParameterKind.WEIGHTS,
    "How the money is spread: `equal`; `volatility`, in proportion to one over the deviation of each alpha's common returns, so that all "
    "weigh the same risk; or numbers of which each is the part of one alpha, this one first, then those of `alphas` in their order, "
    "not all of these 0.",
    default="equal",
)
AMONG: Final = Parameter(
    "among",
    ParameterKind.ALPHAS,
    "Compare with these alphas alone rather than with all that the key may read. With `by=scores` and `by=holdings`, which are "
    f"read from the files of each, it is needed where the key may read more than {MAX_COMPARED} others.",
    most=MAX_COMPARED,
)

MAX_TRIALS: Final = 10**9
"""Most trials that a run may have been picked from."""
TRIALS: Final = Parameter(
    "trials",
    ParameterKind.INTEGER,
    "How many trials the run was picked from, itself counted; each counts as one, so leave out copies. By default what the "
    "run sealed of a search, else what the catalogue has.",
    minimum=1,
    maximum=MAX_TRIALS,
)
TRIAL_DEVIATION: Final = Parameter(
    "trial_deviation",
    ParameterKind.NUMBER,
    "Standard deviation of the annualised Sharpe ratios of those trials; by default that of the trials whose returns were sealed, "
    "else of the runs counted in the catalogue.",
    minimum=0,
)

MAX_BENCHMARKS: Final = 10
"""Benchmarks that one request regresses on, each by itself."""
BENCHMARKS: Final = Parameter(
    "benchmarks",
    ParameterKind.SYMBOLS,
    f"Symbols of `/v1/benchmarks`, at most {MAX_BENCHMARKS}, each regressed on by itself. `SPY` when left out, or the first one "
    "where the market data have no SPY.",
)
BENCHMARK: Final = Parameter(
    "benchmark",
    ParameterKind.TEXT,
    "Symbol of `/v1/benchmarks` that makes the market. `SPY` when left out, or the first one where the market data have no SPY.",
)
ROLLING: Final = Parameter(
    "rolling",
    ParameterKind.INTEGER,
    "Measured sessions of each rolling regression.",
    default=252,
    minimum=20,
    maximum=1260,
)

SNAPSHOT: Final = Parameter(
    "snapshot",
    ParameterKind.TEXT,
    "Answer from this snapshot of the run, named by an earlier answer's `meta.snapshot`, although a newer one is served: "
    "pages that pass it on are all of one build. It is answered until the snapshot is removed, and then `snapshot_not_found`.",
)

SINCE: Final = Parameter(
    "since",
    ParameterKind.CURSOR,
    "Read on behind this place: `meta.next` of the page before, or the `cursor` of a row. From the oldest change that is "
    "remembered when left out.",
)
TO_SNAPSHOT: Final = Parameter(
    "to_snapshot", ParameterKind.TEXT, "Id of the later snapshot; the one served when left out."
)
FROM_SNAPSHOT: Final = Parameter(
    "from_snapshot",
    ParameterKind.TEXT,
    "Id of the earlier snapshot; when left out, the one published before the later one, or that one itself where no other "
    "is there.",
)

ALPHA_PATH: Final = Parameter(
    "alpha", ParameterKind.TEXT, "The alpha's address, as `/v1/alphas` lists it.", required=True, in_path=True
)
DATE_PATH: Final = Parameter(
    "date", ParameterKind.DATE, "A rebalance date of the index.", required=True, in_path=True
)
TABLE_PATH: Final = Parameter(
    "table",
    ParameterKind.CHOICE,
    "A published table; which of them the run has, and the key may read, `/v1/alphas/{alpha}/tables` lists.",
    required=True,
    in_path=True,
    choices=tuple(PUBLISHED_TABLES),
)
SYMBOL_PATH: Final = Parameter(
    "symbol",
    ParameterKind.TEXT,
    "A benchmark this deployment holds, in capitals; any other is a 400 that lists those it holds.",
    required=True,
    in_path=True,
)
KEY_PATH: Final = Parameter("key_id", ParameterKind.TEXT, "The id of a key.", required=True, in_path=True)
