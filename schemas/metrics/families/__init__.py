"""Families of research figures, each declared once; endpoint, payload, definitions and client derive from it."""

from __future__ import annotations

from typing import Final

from schemas.metrics.families.concentration import CONCENTRATION
from schemas.metrics.families.costs import COSTS
from schemas.metrics.families.family import Family
from schemas.metrics.families.risk import RISK
from schemas.metrics.families.signal import SIGNAL

FAMILIES: Final[dict[str, Family]] = {family.name: family for family in (COSTS, CONCENTRATION, RISK, SIGNAL)}
"""By name, in the order of the documents."""

WHOLE_RUN: Final = ""
"""In the document of a family: the key of an object that is of no single book."""
