"""How much of a run's figures may be luck: its returns, weekly coefficients and trials in, the answer's data out.

Everything here but :mod:`datasets.luck.reading` is pure.
"""
