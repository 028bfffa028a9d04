"""Figures of runs: arrays or frames of one window in, numbers or the data of a resource out.

Series are one-dimensional float64 arrays ordered by date, in which NaN stands for null. These modules read no file, no clock
or a setting: :mod:`datasets.figure_data` reads, and both programs compute with what is here. A figure that the window does
not determine comes back as :class:`~datasets.figures.unavailable.Unavailable` or ``None``, never as 0.
"""
