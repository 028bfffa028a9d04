"""Pages of rows: cached bodies, else rows cut from a row table, else DuckDB over Parquet.

Every value is bound and every name is declared, so no text of a request ever becomes SQL.
"""
