"""Where the published Parquet lives, and how it is opened.

>>> import datasets
>>> root = datasets.open("published")                          # doctest: +SKIP
>>> root["Test_momentum"].scan("decisions").collect()          # doctest: +SKIP
"""

from datasets.root import Root, open_root
from datasets.snapshot import Snapshot

open = open_root  # noqa: A001 - `datasets.open(root)` is what an analyst types

__all__ = ["Root", "Snapshot", "open"]
