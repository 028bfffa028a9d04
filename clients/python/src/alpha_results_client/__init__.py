"""Results of alpha runs as Polars or pandas frames.

>>> from alpha_results_client import Client
>>> with Client("https://results.example", key) as client:     # doctest: +SKIP
...     client.alphas()
...     run = client["Test_momentum"]
...     run.scores(start="2024-01-01", symbols=["AAPL", "MSFT"])
"""

from alpha_results_client.asynchronous import AsyncClient, AsyncRun
from alpha_results_client.client import Client, Run
from alpha_results_client.errors import (
    AlphaResultsClientError,
    ApiError,
    InvalidRequest,
    NoAnswer,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RateLimited,
    ResultsWarning,
    ServiceFailed,
    SnapshotNotFound,
    Unavailable,
    UnexpectedAnswer,
)
from alpha_results_client.settings import VERSION
from alpha_results_client.table import Table

__version__ = VERSION

__all__ = [
    "AlphaResultsClientError",
    "ApiError",
    "AsyncClient",
    "AsyncRun",
    "Client",
    "InvalidRequest",
    "NoAnswer",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "RateLimited",
    "ResultsWarning",
    "Run",
    "ServiceFailed",
    "SnapshotNotFound",
    "Table",
    "Unavailable",
    "UnexpectedAnswer",
    "__version__",
]
