"""Families of research figures; endpoint, payload, definitions and client derive from each."""

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
"""Key of an object that belongs to no single book, in the document of a family."""
