"""Read published Parquet files.

>>> import alpha_results_datasets as results
>>> root = results.open("published")                           # doctest: +SKIP
>>> root["Test_momentum"].scan("decisions").collect()          # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets.analysis.alpha import Alpha
    from datasets.analysis.root import Root
    from datasets.analysis.root import open_root as open  # noqa: A004 - `datasets.open(root)` is what an analyst types
    from datasets.figures.series import Window
    from datasets.snapshot import Snapshot

__all__ = ["Alpha", "Root", "Snapshot", "Window", "open"]


def __getattr__(name: str) -> Any:
    """Import Polars and the modules that use it on first use, so that `--help` starts without them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from datasets.analysis.alpha import Alpha  # noqa: PLC0415 - as above
    from datasets.analysis.root import Root, open_root  # noqa: PLC0415 - as above
    from datasets.figures.series import Window  # noqa: PLC0415 - as above
    from datasets.snapshot import Snapshot  # noqa: PLC0415 - as above

    globals().update(Alpha=Alpha, Root=Root, Snapshot=Snapshot, Window=Window, open=open_root)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)
