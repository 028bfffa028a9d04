"""Conversion of bugs into errors of the current seal."""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from schemas.errors import AlphaResultsError, InternalFailure

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_EXITS: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""Exceptions that end the process and are not converted."""
_SECRETS: Final = re.compile(r"(?<=://)[^/@\s]*@|\?\S*")


@contextlib.contextmanager
def contained(what: str) -> Iterator[None]:
    """Convert unexpected exceptions into :class:`InternalFailure`.

    Parameters
    ----------
    what
        Operation in the block; the subject of the message.

    Raises
    ------
    InternalFailure
        For every other exception except those that end the process. BaseException is caught because a panic of Polars is
        not an Exception.
    """
    try:
        yield
    except (AlphaResultsError, *_EXITS):
        raise
    except BaseException as error:
        raise InternalFailure(f"{what} failed because of a bug, {_described(error)}") from error


def _described(error: BaseException) -> str:
    """Describe an exception with its message and its last line of the project, without secrets."""
    lines = _SECRETS.sub("", str(error)).strip().splitlines() or [""]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_REPOSITORY) and ".venv" not in frame.filename
    ]
    place = f" at {Path(frames[-1].filename).relative_to(_REPOSITORY)}:{frames[-1].lineno}" if frames else ""
    detail = f": {lines[0][:200]}" if lines[0] else ""
    return f"{type(error).__name__}{detail}{place}; report it together with the seal"
