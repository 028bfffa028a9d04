"""Where the published Parquet lives, and how it is opened.

>>> import alpha_results_datasets as results
>>> root = results.open("published")                           # doctest: +SKIP
>>> root["Test_momentum"].scan("decisions").collect()          # doctest: +SKIP
"""

import numpy as np
import polars as pl

from datasets.analysis import Alpha
from datasets.root import Root, open_root
from datasets.snapshot import Snapshot

# Polars loads NumPy when it first meets an array, and two threads that meet their first ones together break that.
pl.Series(np.zeros(1))

open = open_root  # noqa: A001 - `datasets.open(root)` is what an analyst types

__all__ = ["Alpha", "Root", "Snapshot", "open"]
