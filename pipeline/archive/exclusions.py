"""Source files that archives exclude: private files and caches."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from schemas.errors import SettingsError

DEFAULT_EXCLUDE: Final = (
    # Dot-files and dot-folders: .git, .env, .venv, .ssh, .aws, .ipynb_checkpoints, .pytest_cache, .DS_Store.
    ".*",
    # Keys, certificates with keys, and key stores.
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.gpg",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    # Files that hold credentials by convention.
    "*.env",
    "credentials",
    "credentials.json",
    "client_secret*.json",
    "secrets.*",
    # Caches and by-products of running or editing.
    "__pycache__",
    "*.pyc",
    "*.pyo",
    "*-checkpoint.ipynb",
    "*-checkpoint.py",
    "*.egg-info",
    "node_modules",
    "venv",
    "*.swp",
    "*~",
    "thumbs.db",
)
"""Patterns of excluded names, at any level of a path."""


def exclusions(text: str | None) -> tuple[str, ...]:
    """Read the setting ``ALPHA_RESULTS_ARCHIVE_EXCLUDE``.

    Parameters
    ----------
    text
        Patterns separated by commas, which replace :data:`DEFAULT_EXCLUDE`, or extend it if the text begins with ``+``.
        None or empty means the default.

    Returns
    -------
    tuple of str
        Distinct patterns in lower case.

    Raises
    ------
    SettingsError
        When there are separators but no pattern, or when a pattern holds a slash: patterns match single names, not paths.
    """
    setting = (text or "").strip()
    if not setting:
        return DEFAULT_EXCLUDE
    patterns = tuple(part.strip().lower() for part in setting.removeprefix("+").split(",") if part.strip())
    if not patterns and not setting.startswith("+"):
        raise SettingsError(
            f"ALPHA_RESULTS_ARCHIVE_EXCLUDE: {text!r} holds no pattern, so archives would hold private files, too; name the "
            "patterns, or leave it unset for the defaults"
        )
    for pattern in patterns:
        if "/" in pattern:
            raise SettingsError(
                f"ALPHA_RESULTS_ARCHIVE_EXCLUDE: {pattern!r} holds a slash, and a pattern matches the name of one "
                "file or folder; give the name alone"
            )
    return tuple(dict.fromkeys((DEFAULT_EXCLUDE if setting.startswith("+") else ()) + patterns))


def is_excluded(path: str, exclude: Iterable[str]) -> bool:
    """Return whether a source file is excluded.

    Parameters
    ----------
    path
        Relative, with forward slashes.
    exclude
        Shell patterns in lower case. A file is excluded if a pattern matches its name or a folder of its path,
        ignoring case.
    """
    names = path.lower().split("/")
    return any(fnmatchcase(name, pattern) for pattern in exclude for name in names)
