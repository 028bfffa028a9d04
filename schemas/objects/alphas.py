"""Rows of the lists of alphas."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import figure, flag, instant, record, text
from schemas.metrics.checked import CHECKED
from schemas.metrics.headline import HEADLINE
from schemas.metrics.statistic import Checked

_LISTED: Final = (
    text("alpha_id", "Address of the alpha in every path."),
    text("name", "Readable title; the address if the run sealed none."),
    text("tldr", "The thesis in one line.", nullable=True),
)
_CHECKED: Final = replace(
    CHECKED,
    meaning=f"{CHECKED.meaning.removesuffix('.')}, or the key may not read the run; only with `fields`.",
    optional=True,
)
_FIGURES: Final = record(
    "figures",
    "Figures requested by `fields`, null if withheld; only with `fields`.",
    *(
        figure(x.name, x.meaning, unit=x.unit_text, optional=True, deprecated=x.deprecated)
        for x in HEADLINE.values()
    ),
    optional=True,
)
_PROVENANCE: Final = record(
    "figures_checked",
    "Provenance of each figure with a value; only with `fields`. `stated` figures are excluded from sorting and bounds.",
    *(
        text(
            name,
            f"`checked` of `{name}` in the metrics of the run.",
            vocabulary=tuple(Checked),
            optional=True,
        )
        for name in HEADLINE
    ),
    optional=True,
)
_WITHHELD: Final = record(
    "withheld",
    "Reason for each requested figure without a value; empty if all have one; only with `fields`.",
    *(text(name, f"Why `{name}` is withheld.", optional=True) for name in HEADLINE),
    optional=True,
)

ALPHA: Final = record("alpha", "One alpha.", *_LISTED, model="AlphaRow")

SCREENED_ALPHA: Final = record(
    "screened_alpha",
    "One alpha of the screen.",
    *_LISTED,
    text("snapshot", "Id of the served snapshot; pass it as `snapshot` to pin it."),
    instant("published_at", "When that snapshot was first served."),
    flag("complete", "Whether the run has every required kind."),
    _CHECKED,
    _FIGURES,
    _PROVENANCE,
    _WITHHELD,
    model="ScreenedAlphaRow",
)
