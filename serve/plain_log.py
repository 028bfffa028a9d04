"""Loading the library of the log without what it would load for tracebacks that are not used here.

Ours are plain: the pretty ones print local variables, and one of them may be a token. Commands that print tables load
Rich by themselves. It takes a tenth of a start.
"""

from __future__ import annotations

import sys
from typing import Any, Final

_RICH: Final = "rich"


def load() -> None:
    """Load the library, to which Rich seems not to be installed."""
    modules: dict[str, Any] = sys.modules
    before = modules.get(_RICH)
    modules[_RICH] = None  # as the language defines it: importing it fails
    try:
        import structlog  # noqa: F401, PLC0415 - whoever imports it next finds it loaded
    finally:
        del modules[_RICH]
        if before is not None:
            modules[_RICH] = before
