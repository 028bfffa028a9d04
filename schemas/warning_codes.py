"""Codes of ``meta.warnings`` and ``meta.notices``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

WARNING_CODES: Final[dict[str, str]] = {
    "missing_kind": "A block of the metrics needs a kind of data that the run did not seal; `kind` names it, and is `decisions` "
    "if only the signal before smoothing is missing.",
    "missing_core_metrics": "The run did not seal some core statistics; they are computed where possible, "
    "otherwise withheld. The message lists them.",
    "access_limited": "A block is null because the key may not call the endpoint that serves its data.",
    "forward_returns_absent": "The run has no forward returns in the window, so the blocks that need them are null.",
    "insufficient_data": "The window has too few data for a block, which is null: a Newey-West test needs ten "
    "observations, `ic_deciles` and `panel` a week with enough scored names whose scores differ, `core.tenure` a date.",
    "nonpositive_variance": "The long-run variance of the series is not positive, so the Newey-West block is null.",
    "window_lifetime_only": "The block describes the run, not the requested window; `within_window` has its figures of the window. "
    "On `periods`: sealed statistics describe the complete period, even if the window cuts it.",
    "block_error": "A block could not be computed and is null; the rest of the answer is unaffected.",
    "ic_family_mismatch": "`nwt.ic` is null because the run has no cross-sections to rebuild the weekly IC from.",
    "ic_reproduction_mismatch": "`nwt.ic` is null because the rebuilt weekly IC does not reproduce the sealed mean IC.",
    "kind_missing": "The run has no data for this endpoint: the page is empty, and `kind` names the missing kind.",
}
"""Code of ``meta.warnings`` -> meaning: exactly the codes of the API's specification."""

NOTICE_CODES: Final[dict[str, str]] = {
    "nonpositive_equity": "The book opens sessions of the window with equity at or below 0. These have no return, so figures "
    "based on the returns of the window are withheld.",
    "unknown_symbol": "The run never scored or traded a requested `symbol`. The message names it and, if there is one, a "
    "symbol that differs only in case; symbols are case-sensitive.",
    "figure_not_reproduced": "No documented convention reproduces a sealed figure from the tables. The "
    "message names the statistic and both values; the recomputed figure is served.",
    "figure_stated": "The run sealed figures that none of its tables supports. They are served as sealed, marked `checked: stated`, "
    "and excluded from sorting, bounds and comparisons. The message names them.",
    "figure_by_other_convention": "The run sealed figures by another convention than the API's definition. The figures by the "
    "definition are served, each with `sealed_value` and `sealed_convention`. The message names them.",
    "comparison_cut": "Alphas are compared over their common sessions, and some have sessions before or after these. The message "
    "gives the number left out of each.",
}
"""Code of ``meta.notices`` -> meaning. Entries have the same shape as warnings."""

CODES: Final = {"warnings": WARNING_CODES, "notices": NOTICE_CODES}
"""Member of ``meta`` -> its codes with their definitions; messages in responses are specific to the case."""
_MEMBERS: Final = {code: name for name, codes in CODES.items() for code in codes}


def warning(code: str, message: str, *, kind: str | None = None) -> dict[str, str]:
    """Return an entry of ``meta.warnings`` or ``meta.notices`` without a block."""
    return {"code": code, "message": message, **({} if kind is None else {"kind": kind})}


def by_member(entries: Iterable[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """Return the entries under the member of ``meta`` that their codes belong to; members without entries are left out.

    Raises
    ------
    KeyError
        On a code that is not declared.
    """
    members: dict[str, list[Mapping[str, str]]] = {}
    for entry in entries:
        members.setdefault(_MEMBERS[entry["code"]], []).append(entry)
    return {name: members[name] for name in CODES if name in members}
