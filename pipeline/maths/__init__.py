"""Weekly cross-sectional figures, as functions from frames of a complete run to frames.

Every function processes all weeks of a run together. The result does not depend on the order of the input rows, not even
in the last bit, because a seal must always give the same snapshot. Nulls in frames stand for unknown values, NaN in arrays for
nulls; seals with NaN or infinity are refused before they get here.
"""
