"""The notice on restated weeks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from datasets.provenance.sealed_weeks import NOTICE, RESTATED, describe
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked


def history_notices(history: Sequence[Mapping[str, Any]]) -> NoticeOutcome:
    """Judge whether a seal restates weeks of an earlier one.

    Parameters
    ----------
    history
        One entry per earlier seal, oldest first, as in a manifest.
    """
    if not history:
        return not_checked(NOTICE, "no earlier seal of the alpha was built")
    weeks = {place: max(entry["restated_weeks"].values()) for place, entry in enumerate(history)}
    restated = [entry for entry in history if entry["outcome"] == RESTATED]
    message = f"It restates {describe(restated[-1])}." if restated else ""
    return judged(
        NOTICE,
        float(max(weeks.values())),
        message,
        earlier_seals=len(history),
        restated_seals=len(restated),
    )
