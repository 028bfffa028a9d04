"""The rules on seals.

:data:`RULES` lists them in the order they are checked, each with its meaning and the fix; :func:`check`
applies them to a seal. A rule by itself is a pure function of frames.
"""

from pipeline.reconciliation.tables import Tables
from pipeline.rules.checking import check, judge
from pipeline.rules.registry import RULES
from pipeline.rules.report import NotChecked, Report

__all__ = ["RULES", "NotChecked", "Report", "Tables", "check", "judge"]
