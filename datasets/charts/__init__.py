"""What draws the charts of results in a browser: the library, and the module that turns figures into its charts.

The explorer and reports use the same. The library is Chart.js, whose one file a package brings; none of that package's code
is run. `charts.js` beside this file is a module without imports that asks for nothing by itself.
"""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path
from typing import Final

_PACKAGE: Final = "chartkick"
_LIBRARY: Final = "Chart.bundle.js"


def library() -> bytes:
    """Return Chart.js with its time axis, a script that defines the global `Chart`."""
    found = next(file for file in files(_PACKAGE) or () if file.name == _LIBRARY)
    return Path(str(found.locate())).read_bytes()


def module() -> bytes:
    """Return the module of this project that makes charts of figures."""
    return Path(__file__).with_name("charts.js").read_bytes()
