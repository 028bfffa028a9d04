"""Daily benchmark prices, read from Parquet files, cached in memory and measured over a request's window."""

from serve.market_data.operator_files import MarketData
from serve.market_data.window import measure

__all__ = ["MarketData", "measure"]
