"""Weekly cross-sectional figures: frames of a whole run in, frames out.

Every function processes all weeks of a run together. The order of the input rows never
matters, not even in the last bit, because a seal must always give the same snapshot. Nulls stand for unknown
not known; NaN and infinity are refused before anything gets here.
"""
