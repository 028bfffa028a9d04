"""The rules on the description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pipeline.rule import Finding, file_rule, limited
from pipeline.seal.file_rules import shape_finding
from pipeline.seal.shape import Shape, compare, with_optional_keys
from pipeline.seal.strict_json import NotJson
from schemas.kinds import MAX_DEPTH, MAX_KEYS
from schemas.objects.description import ADDRESS_KEYS, DESCRIPTION

_DESCRIPTION: Final = with_optional_keys(
    replace(DESCRIPTION, fields=tuple(x for x in DESCRIPTION.fields if x.name not in ADDRESS_KEYS))
)
_rule: Final = partial(file_rule, needs={"description": ()})


def compare_description(description: Mapping[str, Any]) -> Shape:
    """Compare a description with its declaration."""
    return compare(_DESCRIPTION, description)


@_rule(
    "description.object",
    "description.json is one JSON object, in UTF-8, without NaN, Infinity or a key given twice, of at most "
    f"{MAX_KEYS['description']:,} keys and {MAX_DEPTH} levels.",
    "Write the description as a plain JSON object, or leave the kind out of the seal.",
)
def description_object(problem: NotJson) -> Finding:
    """Report a description that is not a JSON object."""
    return Finding("description", 1, ({"found": str(problem)},), f"it cannot be read: {problem}")


@_rule(
    "description.shape",
    "The contents of description.json have the documented shape: every value has its documented type, coded values are "
    "among the listed words, and no text or list is longer than documented. Any key may be left out "
    "or null.",
    "Write each part as the schema of the description in docs/openapi.json says, shorten it, or leave it out.",
)
def description_shape(shape: Shape) -> Finding | None:
    """Report parts of a description that could not be served as documented."""
    return shape_finding("description", "field", shape.problems)


@_rule(
    "description.extra",
    "description.json has no keys that are not documented.",
    "Check the spelling; undocumented keys are not served.",
    warns=True,
)
def description_extra(shape: Shape) -> Finding | None:
    """Report the keys of a description that will not be served."""
    if not shape.extra:
        return None
    examples = tuple({"field": path} for path in limited(shape.extra))
    return Finding("description", len(shape.extra), examples, f"{shape.extra[0]} is not a documented key")


@_rule(
    "description.seed",
    "Of the source papers, when there are any, exactly one has the role seed.",
    "Mark the one paper the alpha was made from; the others are mechanism, validation or contradiction.",
    warns=True,
)
def description_seed(document: Mapping[str, Any]) -> Finding | None:
    """Report a list of papers without a seed, or with several."""
    papers = document.get("source_papers") or []
    seeds = [place for place, paper in enumerate(papers) if paper.get("role") == "seed"]
    if not papers or len(seeds) == 1:
        return None
    examples = [{"field": f"source_papers[{place}].role", "found": "seed"} for place in seeds]
    shown = limited(examples) or ({"field": "source_papers", "found": "no seed"},)
    return Finding(
        "description", max(1, len(seeds)), shown, f"{len(seeds)} of {len(papers)} papers are the seed"
    )


@_rule(
    "description.history",
    "The history an alpha needs is counted in bars or described in prose, not both.",
    "Seal lookback_bars and warmup_bars, or history_requirement; leave the other null.",
    warns=True,
)
def description_history(document: Mapping[str, Any]) -> Finding | None:
    """Report a requirement stated in both forms."""
    needed = document.get("data_requirements") or {}
    counts = [name for name in ("lookback_bars", "warmup_bars") if needed.get(name) is not None]
    if not counts or needed.get("history_requirement") is None:
        return None
    examples = tuple({"field": f"data_requirements.{name}"} for name in (*counts, "history_requirement"))
    return Finding("description", 1, examples, "the history needed is stated in bars and in prose")


DESCRIPTION_CROSS_CHECKS: Final = (description_seed, description_history)
"""Rules across parts of a description, applied only if its shape is right."""
