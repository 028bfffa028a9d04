"""``seal.json``, the manifest of a seal: the reader's checks and its JSON Schema derive from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import Field, anything, array, flag, integer, mapping, number, record, text
from schemas.kinds import ALPHA_ID, KINDS, MAX_KINDS, SEAL_VERSION, SOURCE_ALPHA_ID, TABLE_KINDS
from schemas.table import Bound
from schemas.tables.books import TRADE_ONLY_SUFFIXES
from schemas.units import Unit

FOLDER_KIND: Final = "source"
BINDING: Final = "binding"
TARGETS: Final = (BINDING, "advisory")
VARIANTS: Final = tuple(suffix.removeprefix("_") for suffix in TRADE_ONLY_SUFFIXES)
MOST_ROUNDING: Final = 0.01
_INSTANT: Final = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$"
INSTANT_EXPECTED: Final = "an ISO-8601 instant in UTC that ends in Z, such as 2026-01-05T06:00:00Z"
_ANYTHING: Final = anything("", "Value of an unknown key.")
_PATH: Final = text(
    "path", "Relative to the seal, without `..`; never a link.", expected="a path relative to the seal"
)
_SHA256: Final = text(
    "sha256", "SHA-256 of the file.", pattern="^[0-9a-fA-F]{64}$", expected="64 hexadecimal digits"
)
_FILES: Final = mapping(
    "files", "Relative path to digest.", replace(_SHA256, name=""), expected="an object path -> sha256"
)
_BYTES: Final = integer(
    "bytes", Unit.NONE, "Size of the file.", expected="a whole number of bytes, 0 or more"
)
_ROWS: Final = integer("rows", Unit.NONE, "Rows of the table.", expected="a whole number of rows, 0 or more")


def _anchored(pattern: str) -> str:
    # JSON Schema does not anchor patterns, and only Python has \Z.
    return f"^{pattern.removesuffix(chr(92) + 'Z')}$"


def _kind(kind: str) -> Field:
    members: tuple[Field, ...] = (_PATH, _FILES)
    if kind != FOLDER_KIND:
        rows = replace(_ROWS, optional=kind not in TABLE_KINDS)
        members = (_PATH, _SHA256, _BYTES, rows)
    return record(kind, f"The {kind} of the run.", *members, optional=True, items=_ANYTHING)


_OTHER_KIND: Final = record(
    "",
    "An unknown kind.",
    _PATH,
    *(replace(member, optional=True) for member in (_SHA256, _BYTES, _ROWS, _FILES)),
    items=_ANYTHING,
)
_SMOOTHING: Final = record(
    "smoothing",
    "Whether and how the score was smoothed; null if unknown.",
    flag("applied", "Whether it was."),
    number(
        "half_life_weeks",
        Unit.NONE,
        "Half-life of the smoothing in weeks.",
        expected="a finite number or null",
        nullable=True,
        optional=True,
    ),
    text("detail", "The smoothing in words.", expected="a string or null", nullable=True, optional=True),
    nullable=True,
    optional=True,
    expected="an object or null",
    items=_ANYTHING,
)
_VARIANT: Final = text("", "A variant of trades.", vocabulary=VARIANTS)
_RECONCILIATION: Final = record(
    "reconciliation",
    "Differences of the engine from the API's conventions.",
    array("outside_ledger", "Variants whose fills the books do not count.", _VARIANT, optional=True),
    array("outside_turnover", "Variants whose fills are not turnover.", _VARIANT, optional=True),
    text("targets", "Whether the books follow the target weights.", vocabulary=TARGETS, optional=True),
    number(
        "rounding",
        Unit.NONE,
        "Largest rounding adjustment of a session, as a fraction of starting_equity, or of equity_basis where that is larger.",
        minimum=0,
        maximum=MOST_ROUNDING,
        expected=f"a number from 0 to {MOST_ROUNDING}",
        optional=True,
    ),
    nullable=True,
    optional=True,
    expected="an object or null",
)
SEAL: Final = record(
    "seal",
    "Manifest of a run and its files.",
    integer(
        "seal_version",
        Unit.NONE,
        "Version of the format.",
        vocabulary=(SEAL_VERSION,),
        expected=f"the number {SEAL_VERSION}",
    ),
    text(
        "alpha_id",
        "Address of the run.",
        pattern=_anchored(ALPHA_ID.pattern),
        expected="1 to 128 letters, digits, '_', '.', '-', the first a letter or digit, without '..'",
    ),
    text(
        "source_alpha_id",
        "Id of the alpha in research; null for `alpha_id`.",
        pattern=_anchored(SOURCE_ALPHA_ID.pattern),
        expected=f"{Bound.NAME.value}, or null",
        nullable=True,
        optional=True,
    ),
    text("started_at", "When the run began, in UTC.", pattern=_INSTANT, expected=INSTANT_EXPECTED),
    text(
        "sealed_at",
        "When the run was sealed, in UTC; of two seals of an alpha the later one is served.",
        pattern=_INSTANT,
        expected=INSTANT_EXPECTED,
    ),
    record("engine", "Engine that made the run.", expected="an object {name, version}", items=_ANYTHING),
    number(
        "equity_basis", Unit.NONE, "Opening equity of each book.", above=0, expected="a finite number above 0"
    ),
    _SMOOTHING,
    _RECONCILIATION,
    record(
        "kinds",
        "The files of the seal.",
        *map(_kind, KINDS),
        items=_OTHER_KIND,
        maximum=MAX_KINDS,
        expected=f"an object of at most {MAX_KINDS} kinds",
    ),
    items=_ANYTHING,
)
