"""Charts in a browser: the library Chart.js, and the modules that turn figures into its charts.

The explorer and tear sheets share them. Chart.js comes as one file of the package `chartkick`, whose code is not used: it has no
dependencies and runs without eval and inline styles, which ECharts and Plotly need. The modules beside this file import only one
another and make no requests.
"""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path
from typing import Final

_PACKAGE: Final = "chartkick"
_LIBRARY: Final = "Chart.bundle.js"
MODULES: Final = ("charts.js", "returns.js")


def library() -> bytes:
    """Return Chart.js with its time axis, a script that defines the global `Chart`."""
    library_file = next(file for file in files(_PACKAGE) or () if file.name == _LIBRARY)
    return Path(str(library_file.locate())).read_bytes()


def modules() -> dict[str, bytes]:
    """Return the modules that make charts and sentences from figures: name -> text, each after its imports."""
    return {name: Path(__file__).with_name(name).read_bytes() for name in MODULES}
