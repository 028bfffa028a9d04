"""Daily benchmark prices, read from Parquet files, cached in memory and measured over a request's window."""
