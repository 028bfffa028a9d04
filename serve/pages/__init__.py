"""Parameters to SQL: pure functions that need no engine.

Every value is bound. Every name stands in a table's declaration, so no text of a request ever becomes SQL.
"""
