"""Pages of rows: a finished body, else cut from a table of JSON rows, else DuckDB over Parquet.

Every value is bound. Every name stands in a table's declaration, so no text of a request ever becomes SQL.
"""
