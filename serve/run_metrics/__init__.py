"""The metrics resource: a run's figures and a question in, the answer's data and warnings out.

Everything here but :mod:`serve.run_metrics.reading` is pure. A figure is served as sealed where it was sealed, computed
where the data allow it, and withheld with the reason otherwise.
"""
