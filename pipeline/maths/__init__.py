"""Weekly cross-sectional figures: frames of a whole run in, frames out.

Every function takes the weeks of a run together and works on all of them at once. The order of the input rows never
matters, not even in the last bit, because a snapshot is addressed by what it was built from. Nulls stand for what is
not known; NaN and infinity are refused before anything gets here.
"""
