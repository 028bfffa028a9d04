"""The written description of an alpha: every documented key, null where the run sealed none."""

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
"""Keys of the served description that come from the manifest of the seal."""
YEAR: Final = r"^\d{4}$"
MAX_LINE: Final = 1_000
"""Maximum characters of the name and summary, which lists and comparisons show."""
MAX_TEXT: Final = 50_000
"""Maximum characters of any other text."""
MAX_LABELS: Final = 100
"""Maximum number of tags and cadences, which lists show."""
MAX_ENTRIES: Final = 1_000
"""Maximum entries of any other list."""

_LABEL: Final = text("", "One entry.", maximum=100)


def _sealed(name: str, meaning: str, *members: Field) -> Field:
    """Declare an object whose members are null unless the run sealed them."""
    return record(name, meaning, *(replace(member, nullable=True) for member in members))


CLASSIFICATION: Final = _sealed(
    "classification",
    "Classification of the alpha.",
    text("structure", "Structure of the signal, such as cross_sectional.", maximum=MAX_LINE),
    text("method", "Method of the signal, such as price_based.", maximum=MAX_LINE),
    array("frequency", f"Cadences ({', '.join(CADENCES)}), as sealed.", _LABEL, maximum=MAX_LABELS),
    array("tags", "Free labels.", _LABEL, maximum=MAX_LABELS),
)

THESIS: Final = _sealed(
    "thesis",
    "Why the signal should work, and what would falsify it.",
    text("hypothesis", "What is claimed."),
    text("mechanism", "Mechanism behind it."),
    text("who_loses", "Who is on the other side."),
    text("economic_rationale", "Why it should persist."),
    array(
        "falsification_criteria",
        "Pre-committed conditions under which the alpha is abandoned; empty if the run sealed that there are none, null if it sealed "
        "no statement.",
        _sealed(
            "",
            "One condition.",
            text("metric", "The figure watched."),
            anything("threshold", "The value that breaks the thesis."),
            anything("horizon", "Span over which it is watched."),
        ),
    ),
)

SIGNAL: Final = _sealed(
    "signal",
    "How the score is made, and its contract.",
    text("score_direction", "Which end of the score is favourable."),
    text("decision_timing", "When a week's decision is taken."),
    text("core_math_framework", "The mathematics it rests on."),
    text("signal_logic", "The formula in one line."),
    texts("pseudocode", "The computation, step by step."),
    texts("validity_rules", "Conditions for a name to be scored."),
    text("output_contract", "Guaranteed properties of the scores."),
)

PARAMETER: Final = _sealed(
    "",
    "One parameter of the alpha.",
    text("name", "Its name."),
    text("type", "Type of its values."),
    anything("default", "Default value."),
    array("search_values", "Values searched.", anything("", "One value.", nullable=True)),
    array(
        "range",
        "Lowest and highest sensible value.",
        number("", Unit.NONE, "One end.", nullable=True),
        minimum=2,
        maximum=2,
    ),
    flag("tunable", "Whether it may be tuned."),
    text("unit", "What it counts."),
    text("description", "What it does."),
    mapping("selected_value_by_test_year", "Test year to value.", text("", "Value as text."), pattern=YEAR),
)

DATA_REQUIREMENTS: Final = _sealed(
    "data_requirements",
    "Data that the alpha needs. The length of history is either in bars or in `history_requirement`.",
    text("universe", "Universe of names."),
    text("granularity", "Length of one bar."),
    integer("lookback_bars", Unit.BARS, "History used by one score, in bars of the granularity."),
    integer("warmup_bars", Unit.BARS, "History before the first valid score, in bars."),
    text("adjustment", "How prices are adjusted."),
    array(
        "fields",
        "Data fields that it reads.",
        _sealed(
            "",
            "One field.",
            text("name", "Its name."),
            text("category", "Category of the data."),
            flag("required", "Whether the alpha requires it."),
        ),
    ),
    text("history_requirement", "The history needed, in prose."),
)

SOURCE_PAPER: Final = _sealed(
    "",
    "One publication.",
    text("title", "Its title."),
    day("published_date", "Date of publication."),
    text("role", "Its role for the alpha; exactly one publication is the seed.", vocabulary=PAPER_ROLES),
    text("rationale", "Why it is cited."),
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
    "Written description of an alpha. Every key is always present, and null if the run did not seal it.",
    text("algo_id", "Address of the alpha."),
    text("alpha_id", "Older name of `algo_id`.", deprecated=True),
    text("name", "Readable title.", maximum=MAX_LINE),
    text("tldr", "The thesis in one line.", maximum=MAX_LINE, nullable=True),
    text("copyright", "Copyright line.", maximum=MAX_LINE, nullable=True),
    CLASSIFICATION,
    THESIS,
    SIGNAL,
    array("parameters", "The parameters of the alpha.", PARAMETER, nullable=True),
    DATA_REQUIREMENTS,
    array("source_papers", "Publications behind the alpha; empty if none were sealed.", SOURCE_PAPER),
    model="Description",
)
DESCRIPTION: Final = _bounded(_DESCRIPTION)
