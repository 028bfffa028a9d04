"""Charts in a browser: the library Chart.js, and the modules that create charts from figures.

The explorer and tear sheets share them. Chart.js is one file of the package `chartkick`, whose code is not used. It has no
dependencies and, unlike ECharts and Plotly, runs without eval and inline styles. The modules next to this file import only each
other and make no requests.
"""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path
from typing import Final

_PACKAGE: Final = "chartkick"
_LIBRARY: Final = "Chart.bundle.js"
MODULES: Final = ("charts.js", "returns.js")


def library() -> bytes:
    """Return the script of Chart.js with its time axis, which defines the global `Chart`."""
    library_file = next(file for file in files(_PACKAGE) or () if file.name == _LIBRARY)
    return Path(str(library_file.locate())).read_bytes()


def modules() -> dict[str, bytes]:
    """Return the modules that create charts and sentences from figures: name -> text, each after the modules it imports."""
    return {name: Path(__file__).with_name(name).read_bytes() for name in MODULES}
