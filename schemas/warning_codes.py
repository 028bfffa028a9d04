"""The codes of ``meta.warnings`` and of ``meta.notices``, with their meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

WARNING_CODES: Final[dict[str, str]] = {
    "missing_kind": "A block of the metrics needs a kind of data that the run did not seal; `kind` names it. It is "
    "`decisions` also when only the signal before smoothing was not recorded.",
    "missing_core_metrics": "Core statistics the run did not seal; they are derived where a formula exists, "
    "else withheld. The message lists them.",
    "access_limited": "A block was left null because the key may not call the endpoint whose data it reads.",
    "forward_returns_absent": "The run holds no forward return in the window, so the blocks built on them are null.",
    "insufficient_data": "The window holds too little for a block, which is null: a Newey-West test takes ten "
    "observations, `ic_deciles` and `panel` a week with enough scored names, `core.tenure` a date.",
    "nonpositive_variance": "The long-run variance of the series is not positive, so the Newey-West block is null.",
    "window_lifetime_only": "The block describes the run as a whole, which the requested window does not narrow; `within_window` "
    "has its figures of the window. On `periods`: sealed statistics of a period that the window cuts describe all of it.",
    "block_error": "A block could not be computed; it is null and the rest of the answer is unaffected.",
    "ic_family_mismatch": "`nwt.ic` is null because the run has no cross-sections to rebuild the weekly IC from.",
    "ic_reproduction_mismatch": "`nwt.ic` is null because the rebuilt weekly IC does not reproduce the sealed mean IC.",
    "kind_missing": "The run holds no data for this endpoint; the page is empty and `kind` names what is missing.",
}
"""Code of ``meta.warnings`` -> meaning: the vocabulary of the interface's description."""

NOTICE_CODES: Final[dict[str, str]] = {
    "nonpositive_equity": "The book opens sessions of the window with equity at or below 0. These have no return, so what is "
    "made of the returns of the window is withheld.",
    "unknown_symbol": "The run never scored or traded a requested `symbol`; the message names it, and the name that differs in "
    "letter case alone where there is one. Symbols are compared as they stand.",
    "figure_not_reproduced": "A figure the run sealed follows from its tables under no documented convention. The "
    "message names the statistic and both values; the recomputed figure is served.",
    "figure_stated": "The run sealed figures that no table of it supports. They are served as sealed, marked `checked: stated`, "
    "and take no part in sorts, bounds and comparisons. The message names them.",
    "figure_by_other_convention": "The run sealed figures by another convention than the interface's definition, which is what is "
    "served; `sealed_value` and `sealed_convention` stand beside each. The message names them.",
    "comparison_cut": "Alphas are compared over the sessions that all of them have, and some have sessions before or after these, as "
    "where one of them is short; the message says how many are left out of each.",
}
"""Code of ``meta.notices`` -> meaning. Entries have the same shape as warnings."""

CODES: Final = {"warnings": WARNING_CODES, "notices": NOTICE_CODES}
"""Member of ``meta`` -> its codes. The response's message is written for the case; these are the definitions."""
_MEMBERS: Final = {code: name for name, codes in CODES.items() for code in codes}


def warning(code: str, message: str, *, kind: str | None = None, block: str | None = None) -> dict[str, str]:
    """Return an entry of ``meta.warnings`` or ``meta.notices``."""
    entry = {"code": code, "message": message}
    if kind is not None:
        entry["kind"] = kind
    if block is not None:
        entry["block"] = block
    return entry


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
