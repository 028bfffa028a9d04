"""What draws the charts of results in a browser: the library, and the modules that turn figures into its charts.

The explorer and reports use the same. The library is Chart.js, whose one file a package brings; none of that package's code
is run. The modules beside this file import one another alone, and ask for nothing.
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
    """Return the modules of this project that make charts and sentences of figures: name -> text, each after those it imports."""
    return {name: Path(__file__).with_name(name).read_bytes() for name in MODULES}
