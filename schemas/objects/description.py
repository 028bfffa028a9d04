"""The written description of an alpha: every documented key, whatever the run sealed of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import (
    Field,
    FieldType,
    anything,
    array,
    day,
    flag,
    integer,
    mapping,
    number,
    record,
    text,
    texts,
)
from schemas.units import Unit

PAPER_ROLES: Final = ("seed", "mechanism", "validation", "contradiction")
CADENCES: Final = ("intraday", "daily", "weekly")

ADDRESS_KEYS: Final = ("algo_id", "alpha_id")
"""Keys that say where the description is served; the manifest of a seal says so, its description does not."""
YEAR: Final = r"^\d{4}$"
MAX_LINE: Final = 1_000
"""Most characters of the name and summary in lists and comparisons."""
MAX_TEXT: Final = 50_000
"""Most characters of any other text."""
MAX_LABELS: Final = 100
"""Most tags and cadences: lists show them."""
MAX_ENTRIES: Final = 1_000
"""Most entries of any other list."""

_NULL: Final = {"nullable": True}

_LABEL: Final = text("", "One entry.", maximum=100)

CLASSIFICATION: Final = record(
    "classification",
    "Where the alpha belongs.",
    text("structure", "How the signal is arranged, such as cross_sectional.", maximum=MAX_LINE, **_NULL),
    text("method", "What it is made of, such as price_based.", maximum=MAX_LINE, **_NULL),
    array("frequency", f"Cadences ({', '.join(CADENCES)}), as sealed.", _LABEL, maximum=MAX_LABELS, **_NULL),
    array("tags", "Free labels.", _LABEL, maximum=MAX_LABELS, **_NULL),
)

THESIS: Final = record(
    "thesis",
    "Why the signal should work, and what would show that it does not.",
    text("hypothesis", "What is claimed.", **_NULL),
    text("mechanism", "How it comes about.", **_NULL),
    text("who_loses", "Who is on the other side.", **_NULL),
    text("economic_rationale", "Why it should persist.", **_NULL),
    array(
        "falsification_criteria",
        "Conditions, fixed in advance, under which the alpha is given up; empty when the run sealed that there are none, "
        "null when it did not seal any statement on them.",
        record(
            "",
            "One condition.",
            text("metric", "The figure watched.", **_NULL),
            anything("threshold", "The value that breaks the thesis.", **_NULL),
            anything("horizon", "Over what span it is watched.", **_NULL),
        ),
        **_NULL,
    ),
)

SIGNAL: Final = record(
    "signal",
    "How the score is made and what it promises.",
    text("score_direction", "Which end of the score is favourable.", **_NULL),
    text("decision_timing", "When a week's decision is taken.", **_NULL),
    text("core_math_framework", "The mathematics it rests on.", **_NULL),
    text("signal_logic", "The formula in one line.", **_NULL),
    texts("pseudocode", "The computation, step by step.", **_NULL),
    texts("validity_rules", "What a name must fulfil to be scored.", **_NULL),
    text("output_contract", "What the scores are guaranteed to be.", **_NULL),
)

PARAMETER: Final = record(
    "",
    "One parameter of the alpha.",
    text("name", "Its name.", **_NULL),
    text("type", "Type of its values.", **_NULL),
    anything("default", "Value unless another is chosen.", **_NULL),
    array("search_values", "Values that were tried.", anything("", "One value.", **_NULL), **_NULL),
    array(
        "range",
        "Lowest and highest value that make sense.",
        number("", Unit.NONE, "One end.", **_NULL),
        minimum=2,
        maximum=2,
        **_NULL,
    ),
    flag("tunable", "Whether it may be tuned.", **_NULL),
    text("unit", "What it counts.", **_NULL),
    text("description", "What it does.", **_NULL),
    mapping(
        "selected_value_by_test_year",
        "Test year to the value chosen for it.",
        text("", "The value, as text."),
        pattern=YEAR,
        **_NULL,
    ),
)

DATA_REQUIREMENTS: Final = record(
    "data_requirements",
    "What data the alpha needs. How much history is said either in bars or in `history_requirement`.",
    text("universe", "The names it looks at.", **_NULL),
    text("granularity", "Length of one bar.", **_NULL),
    integer("lookback_bars", Unit.BARS, "History behind one score, in bars of the granularity.", **_NULL),
    integer("warmup_bars", Unit.BARS, "History before the first valid score, in bars.", **_NULL),
    text("adjustment", "How prices are adjusted.", **_NULL),
    array(
        "fields",
        "The data fields it reads.",
        record(
            "",
            "One field.",
            text("name", "Its name.", **_NULL),
            text("category", "What sort of data it is.", **_NULL),
            flag("required", "Whether the alpha cannot do without it.", **_NULL),
        ),
        **_NULL,
    ),
    text("history_requirement", "The history needed, in prose.", **_NULL),
)

SOURCE_PAPER: Final = record(
    "",
    "One publication.",
    text("title", "Its title.", **_NULL),
    day("published_date", "When it appeared.", **_NULL),
    text(
        "role",
        "What it is to the alpha; exactly one publication is the seed.",
        vocabulary=PAPER_ROLES,
        **_NULL,
    ),
    text("rationale", "Why it is named.", **_NULL),
)


def _bounded(field: Field) -> Field:
    """Bound every text and list below a declaration that has no bound of its own."""
    most = {FieldType.TEXT: MAX_TEXT, FieldType.ARRAY: MAX_ENTRIES}.get(field.type)
    return replace(
        field,
        maximum=most if field.maximum is None and not field.vocabulary else field.maximum,
        fields=tuple(_bounded(member) for member in field.fields),
        items=None if field.items is None else _bounded(field.items),
    )


_DESCRIPTION: Final = record(
    "description",
    "The written description of an alpha. Every key is always there; what the run did not seal is null.",
    text("algo_id", "The alpha's address."),
    text("alpha_id", "The same address under its older name.", deprecated=True),
    text("name", "Readable title.", maximum=MAX_LINE),
    text("tldr", "The thesis in one line.", maximum=MAX_LINE, **_NULL),
    text("copyright", "Copyright line.", maximum=MAX_LINE, **_NULL),
    CLASSIFICATION,
    THESIS,
    SIGNAL,
    array("parameters", "The parameters of the alpha.", PARAMETER, **_NULL),
    DATA_REQUIREMENTS,
    array("source_papers", "Publications behind the alpha; empty when none were sealed.", SOURCE_PAPER),
    model="Description",
)
DESCRIPTION: Final = _bounded(_DESCRIPTION)
