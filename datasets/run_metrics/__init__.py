"""The figures of a run: what its snapshot holds and a query in, the data of the metrics resource and its warnings out.

Everything here but :mod:`datasets.run_metrics.reading` is pure. A figure is given as sealed where it was sealed, computed where
the data allow it, and withheld with the reason otherwise. `serve` answers requests with it, `datasets report` prints it.
"""
