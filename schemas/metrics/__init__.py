"""What the metrics resource holds: every statistic and block, declared once.

The assembly of an answer, its documentation block and its JSON Schema derive from these declarations.
"""
