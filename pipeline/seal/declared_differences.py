"""Differences from the conventions that a seal declares: the only ones that reconciliation excuses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from schemas.tables.books import TRADE_ONLY_SUFFIXES

BINDING: Final = "binding"
TARGETS: Final = (BINDING, "advisory")
ROUNDING: Final = 1e-6
"""Largest rounding adjustment of a session, as a fraction of its starting equity, unless the seal says otherwise."""
MOST_ROUNDING: Final = 0.01
VARIANTS: Final = tuple(suffix.removeprefix("_") for suffix in TRADE_ONLY_SUFFIXES)


@dataclass(frozen=True, slots=True)
class DeclaredDifferences:
    """The optional object `reconciliation` of ``seal.json``.

    Attributes
    ----------
    outside_ledger
        Trade-only variants (``adjustments``, ``settlements``) whose fills are memoranda: the books do not count them.
    outside_turnover
        Variants whose fills the books count, but not as turnover.
    targets
        ``advisory`` when the books need not follow the target weights; else ``binding``.
    rounding
        Largest rounding adjustment of a session, as a fraction of its starting equity.
    """

    outside_ledger: tuple[str, ...] = ()
    outside_turnover: tuple[str, ...] = ()
    targets: str = BINDING
    rounding: float = ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the default, JSON-ready."""
        plain = asdict(DeclaredDifferences())
        differing = {name: value for name, value in asdict(self).items() if value != plain[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in differing.items()}


def read_declared(document: Mapping[str, Any]) -> tuple[DeclaredDifferences, list[tuple[str, Any, str]]]:
    """Read the object.

    Parameters
    ----------
    document
        As parsed from JSON.

    Returns
    -------
    tuple
        What it declares, and every problem: key, value and what was expected. An unknown key is a problem: it may be a
        misspelt declaration.
    """
    problems: list[tuple[str, Any, str]] = []
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key in {"outside_ledger", "outside_turnover"}:
            expected = f"a list of {' and '.join(VARIANTS)}"
            good = isinstance(value, list) and all(entry in VARIANTS for entry in value)
            values[key] = tuple(value) if good else ()
        elif key == "targets":
            expected, good = " or ".join(TARGETS), value in TARGETS
            values[key] = value if good else BINDING
        elif key == "rounding":
            expected = f"a number from 0 to {MOST_ROUNDING}"
            good = not isinstance(value, bool) and isinstance(value, int | float)
            good = good and math.isfinite(value) and 0 <= value <= MOST_ROUNDING
            values[key] = float(value) if good else ROUNDING
        else:
            expected, good = "one of outside_ledger, outside_turnover, targets and rounding", False
        if not good:
            problems.append((key, value, expected))
    return DeclaredDifferences(**values), problems
