"""Declarations shared by both programs: tables, rows, endpoints, errors, warnings, settings.

Each column, endpoint and code is declared once in this package, and everything else derives from the declaration. The package
does no I/O and imports no query engine.
"""
