"""The tables of settings in the documents."""

from __future__ import annotations

from typing import Final

from schemas.marks import with_part
from schemas.settings.declared import GROUPS
from schemas.settings.setting import Setting

BEGIN: Final = "<!-- settings: derived from schemas/settings by `just docs` -->"
END: Final = "<!-- end of settings -->"


def settings_tables() -> str:
    """Return one table for each group, as Markdown."""
    parts = []
    for group in GROUPS:
        rows = "\n".join(map(_row, group.settings))
        parts.append(
            f"### {group.title}\n\n{group.about}\n\n"
            f"| variable | flag | type | default | meaning |\n|---|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def with_settings(document: str) -> str:
    """Return a document with the tables put anew between its two marks."""
    return with_part(document, BEGIN, END, settings_tables())


def _row(setting: Setting) -> str:
    flag = f"`{setting.flag}`" if setting.flag else "none"
    default = setting.otherwise or ("none" if setting.default is None else f"`{setting.default}`")
    if setting.required:
        default = "required"
    meaning = setting.meaning.replace("|", "\\|") + (" **Secret.**" if setting.secret else "")
    return f"| `{setting.variable}` | {flag} | {setting.type} | {default} | {meaning} |"
