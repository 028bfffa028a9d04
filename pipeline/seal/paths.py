"""Whether a declared path stays inside the seal."""

from __future__ import annotations

import os
from pathlib import Path

from schemas.kinds import MAX_NAME_BYTES, MAX_PATH_BYTES


def lexical_fault(path: str, *, folder: bool = False) -> str | None:
    """Say what is wrong with a path before it is joined to anything; None when it may be joined.

    Parameters
    ----------
    path
        As declared, relative to the seal (or to its folder), with forward slashes.
    folder
        Whether it names a folder, which may end in a slash.
    """
    if path.startswith("/"):
        return "it is absolute"
    if "\\" in path:
        return "it holds a backslash"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "it holds a control character"
    if len(path.encode("utf-8", "replace")) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    segments = path.removesuffix("/").split("/") if folder else path.split("/")
    if any(len(segment.encode("utf-8", "replace")) > MAX_NAME_BYTES for segment in segments):
        return f"a name in it is longer than {MAX_NAME_BYTES} bytes"
    if ".." in segments:
        return "it climbs out of its folder with '..'"
    if "" in segments or "." in segments:
        return "it is not a plain relative path: it holds an empty or '.' segment"
    if ":" in segments[0]:
        return "it holds a colon, as a drive or a URL does"
    return None


def link_fault(root: str, path: str) -> str | None:
    """Say whether a local path goes through a link; None when it does not.

    Parameters
    ----------
    root
        Folder of the seal. It may itself be reached through a link: the operator named it.
    path
        Relative to `root` and lexically sound.

    Returns
    -------
    str or None
        The fault. A path that does not exist has none: that the file is missing is another rule.
    """
    base = os.path.realpath(root)
    expected = os.path.normpath(os.path.join(base, path))  # noqa: PTH118 -- compared as text with realpath
    step = Path(base)
    for segment in path.rstrip("/").split("/"):
        step /= segment
        if step.is_symlink():
            return f"{step.relative_to(base)} is a link"
    if step.exists() and not (step.is_file() or step.is_dir()):
        return "it is not a regular file"
    if os.path.realpath(expected) != expected:
        return "it resolves to another place"
    return None
