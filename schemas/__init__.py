"""Declarations shared by both programs: tables, rows, endpoints, errors, warnings, settings.

Nothing here reads a file, opens a socket or imports a query engine. Whatever the project says about a
column, an endpoint or a code is said once, in this package, and derived everywhere else.
"""
