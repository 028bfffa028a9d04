"""Every setting of both programs, declared once.

Command lines, their ``--help``, what reads the environment, the table in the documents and the check of the files for
deployment derive from these declarations. Nothing is read when this package is imported.
"""

from __future__ import annotations

from schemas.settings.declared import GROUPS, SETTINGS
from schemas.settings.setting import PREFIX, Group, Setting, given

__all__ = ["GROUPS", "PREFIX", "SETTINGS", "Group", "Setting", "given"]
