"""The rules on seals.

:data:`RULES` lists them in the order of the checks, each with its meaning and fix; :func:`check` applies them to a seal.
Each rule is a pure function of frames.
"""

from pipeline.reconciliation.tables import Tables
from pipeline.rules.checking import check
from pipeline.rules.registry import RULES
from pipeline.rules.report import Report

__all__ = ["RULES", "Report", "Tables", "check"]
