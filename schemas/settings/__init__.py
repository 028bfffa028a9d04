"""The settings of both programs.

Flags, ``--help``, environment variables, the table in the documents and the check of deployment files derive from these
declarations. Importing the package reads no setting.
"""

from __future__ import annotations

from schemas.settings.declared import GROUPS, SETTINGS, misspelt_variables, setting_named_in_errors
from schemas.settings.setting import PREFIX, Group, Setting, setting_value

__all__ = [
    "GROUPS",
    "PREFIX",
    "SETTINGS",
    "Group",
    "Setting",
    "misspelt_variables",
    "setting_named_in_errors",
    "setting_value",
]
