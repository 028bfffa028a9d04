"""Declared exceptions from double entry, the object `reconciliation` of a seal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from schemas.objects.seal import BINDING

ROUNDING: Final = 1e-6
"""Default limit of the rounding adjustment of a session, as a fraction of equity (``portfolio.rounding``)."""


@dataclass(frozen=True, slots=True)
class DeclaredDifferences:
    """The optional object `reconciliation` of ``seal.json``.

    Attributes
    ----------
    outside_ledger
        Trade-only variants (``adjustments``, ``settlements``) whose fills are memo entries that the books do not count.
    outside_turnover
        Variants whose fills the books count, but not in turnover.
    targets
        ``advisory`` when the books need not follow the target weights; else ``binding``.
    rounding
        Limit of the rounding adjustment of a session, as a fraction of equity (``portfolio.rounding``).
    """

    outside_ledger: tuple[str, ...] = ()
    outside_turnover: tuple[str, ...] = ()
    targets: str = BINDING
    rounding: float = ROUNDING

    def to_dict(self) -> dict[str, Any]:
        """Return the values that differ from the defaults, for JSON."""
        plain = asdict(DeclaredDifferences())
        differing = {name: value for name, value in asdict(self).items() if value != plain[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in differing.items()}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> DeclaredDifferences:
        """Read the validated object of a ``seal.json``, or the result of :meth:`to_dict`."""
        return msgspec.convert(document, cls)
