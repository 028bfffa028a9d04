"""Compute the figures of runs, from arrays or frames of one window to numbers or served data.

Series are one-dimensional float64 arrays ordered by date, in which NaN stands for null. These modules are pure: they read no
files, clock or settings. :mod:`datasets.figure_data` reads the inputs, and both programs compute figures here. A figure that
the window does not determine is :class:`~datasets.figures.unavailable.Unavailable` or ``None``, never 0.
"""
