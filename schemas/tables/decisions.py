"""The weekly cross-sections: scores, ranks and decisions."""

from __future__ import annotations

from typing import Final

from schemas.table import Bound, Column, Origin, Table, count, derived, flag, instant, number, raw_twin, text
from schemas.tables.shared_columns import SYMBOL, WEEK
from schemas.units import Type, Unit

UNAVAILABILITY_REASONS: Final = ("halted", "suspended", "no_borrow", "illiquid", "data_gap")

_SCORE = number(
    "score",
    Unit.SCORE,
    "Conditioned (smoothed) signal that ranks the names and drives the books; null without a valid score.",
    nullable=True,
)
_DIRECTION = Column(
    "direction",
    Type.I64,
    Unit.NONE,
    "Sign of the score: 1, 0 or -1; 0 only if the score is exactly 0.",
    nullable=True,
    vocabulary=("1", "0", "-1"),
    **derived("score"),
)
_CONFIDENCE = number(
    "confidence",
    Unit.SCORE,
    "Absolute score in the alpha's own units; not a probability.",
    nullable=True,
    bound=Bound.NOT_NEGATIVE,
    **derived("score"),
)
_SCORE_Z = number(
    "score_z",
    Unit.STDEV,
    "Score less the week's mean, over the week's population standard deviation; null if all scores are equal.",
    nullable=True,
    **derived("score"),
)
_AVERAGE_RANK = number(
    "average_rank",
    Unit.RANK,
    "1 is the strongest of the cohort, ties averaged; the engine's own rank if it sealed one.",
    nullable=True,
    optional=True,
    origin=Origin.EITHER,
    needs=("score",),
)
_LONG_SHORT_WEIGHT = number(
    "long_short_target_weight",
    Unit.RATIO,
    "Target fraction of the dollar-neutral book's equity: positive long, negative short, 0 if not selected.",
)
_LONG_ONLY_WEIGHT = number(
    "long_only_target_weight",
    Unit.RATIO,
    "Target fraction of the long-only book's equity; the held names of a traded week sum to 1.",
)
_FILL_AT = instant(
    "fill_at",
    "When the fill that implements the decision executed; null if pending, not traded or not tradeable.",
    nullable=True,
)
_DECISION_REASON = text(
    "decision_reason",
    "Note of the decision layer, such as entered_selection; null for a routine hold.",
    nullable=True,
    optional=True,
    bound=Bound.NOTE,
)

PUBLISHED_AS: Final = {"unsmoothed_score": "raw_score"}
"""Sealed column -> the name under which it is published, where they differ."""

DECISIONS: Final = Table(
    name="decisions",
    meaning="One row per scored name per rebalance week.",
    key=("date", "symbol"),
    columns=(
        WEEK,
        SYMBOL,
        _DIRECTION,
        _CONFIDENCE,
        _SCORE,
        number(
            "unsmoothed_score",
            Unit.SCORE,
            "The signal before smoothing. Published only under the name raw_score.",
            nullable=True,
            optional=True,
            raw=True,
            published=False,
        ),
        raw_twin(
            _SCORE, "Unconditioned signal, before smoothing.", "unsmoothed_score", origin=Origin.DERIVED
        ),
        _SCORE_Z,
        _AVERAGE_RANK,
        count(
            "cohort_size",
            "Names with a valid score in the week; may be below the number of rows.",
            **derived("score"),
        ),
        _LONG_SHORT_WEIGHT,
        _LONG_ONLY_WEIGHT,
        flag(
            "next_open_tradeable",
            "Whether the name can be traded at the next open; false forces both target weights to 0.",
        ),
        _FILL_AT,
        instant(
            "entry_at", "Next open, at which the book acts on the decision.", nullable=True, optional=True
        ),
        instant("maturity_at", "One rebalance period after `entry_at`.", nullable=True, optional=True),
        number(
            "forward_return",
            Unit.RATIO,
            "Return from the first open after this decision to the first open after the next one; null while unknown.",
            nullable=True,
            optional=True,
        ),
        text(
            "unavailability_reason",
            "Why the name cannot be traded at the next open; null if it can.",
            nullable=True,
            vocabulary=UNAVAILABILITY_REASONS,
        ),
        _DECISION_REASON,
        raw_twin(_DIRECTION, "Sign of the unconditioned signal.", "unsmoothed_score"),
        raw_twin(_CONFIDENCE, "Absolute unconditioned signal.", "unsmoothed_score"),
        raw_twin(_SCORE_Z, "Z-score of the unconditioned signal within its week.", "unsmoothed_score"),
        raw_twin(_AVERAGE_RANK, "Rank by the unconditioned signal, 1 the strongest.", "unsmoothed_score"),
        raw_twin(
            _LONG_SHORT_WEIGHT, "Target fraction of the unconditioned dollar-neutral book.", optional=True
        ),
        raw_twin(_LONG_ONLY_WEIGHT, "Target fraction of the unconditioned long-only book.", optional=True),
        raw_twin(_FILL_AT, "When the unconditioned book's fill executed.", optional=True),
        raw_twin(_DECISION_REASON, "Note of the decision layer on the unconditioned book."),
    ),
)
