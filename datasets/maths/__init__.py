"""Definitions of the figures: series of one window in, numbers out.

Series are one-dimensional float64 arrays ordered by date, in which NaN stands for null. Nothing here reads a
file, a clock or a setting. A figure that the window does not determine comes back as
:class:`~datasets.maths.unavailable.Unavailable` or ``None``, never as 0.
"""
